package definition

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answerOf is what a node sends: the test of package node asks a real one.
func answerOf(successful bool, reason string, d Description, sources []Source) []byte {
	data := []byte{0, 1, 0, 0}
	align := func(size int) {
		for (len(data)-4)%size != 0 {
			data = append(data, 0)
		}
	}
	number := func(n int) {
		align(4)
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	text := func(s string) {
		number(len(s) + 1)
		data = append(append(data, s...), 0)
	}
	long := func(n uint64) {
		align(8)
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	individual := func(t Type) {
		text(t.Name)
		number(len(t.Fields))
		for _, f := range t.Fields {
			text(f.Name)
			data = append(data, f.Type.ID)
			long(f.Type.Capacity)
			long(f.Type.StringCapacity)
			text(f.Type.Nested)
			text(f.Default)
		}
	}
	if successful {
		data = append(data, 1)
	} else {
		data = append(data, 0)
	}
	text(reason)
	individual(d.Type)
	number(len(d.Referenced))
	for _, t := range d.Referenced {
		individual(t)
	}
	number(len(sources))
	for _, s := range sources {
		text(s.TypeName)
		text(s.Encoding)
		text(s.Text)
	}
	number(0)
	return data
}

func exampleAnswer(t testing.TB) (Description, []Source, []byte) {
	d, sources, err := Describe("a/msg/A", ros2msg("string<=5[3] s ['x']\nB b\nB[<=7] more\n\n"+line+"MSG: a/B\nint64 n 7 # seven\n"))
	require.NoError(t, err)
	return d, sources, answerOf(true, "", d, sources)
}

func TestDecodeAnswer(t *testing.T) {
	d, sources, data := exampleAnswer(t)
	gotDescription, gotSources, err := DecodeAnswer(data)
	require.NoError(t, err)
	require.Equal(t, d, gotDescription)
	require.Equal(t, sources, gotSources)

	_, _, err = DecodeAnswer(answerOf(false, "never heard of it", Description{}, nil))
	require.ErrorContains(t, err, "never heard of it")

	for size := range len(data) - 8 { // the count of what we do not read stands at the end
		_, _, err := DecodeAnswer(data[:size])
		require.Error(t, err, size)
	}
	huge := append([]byte{0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, strings.Repeat("\xff", 32)...)
	_, _, err = DecodeAnswer(huge)
	require.ErrorIs(t, err, errShort)
	_, _, err = DecodeAnswer([]byte{0, 7, 0, 0, 0})
	require.ErrorContains(t, err, "no plain CDR")
}

func TestEncodeInquiry(t *testing.T) {
	require.Equal(t,
		"\x00\x01\x00\x00"+"\x06\x00\x00\x00a/b/C\x00\x00\x00"+"\x02\x00\x00\x00h\x00\x01",
		string(EncodeInquiry("a/b/C", "h")))
}

func FuzzDecodeAnswer(f *testing.F) {
	_, _, data := exampleAnswer(f)
	f.Add(data)
	f.Add(answerOf(false, "no", Description{}, nil))
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, sources, err := DecodeAnswer(data)
		if err != nil {
			require.Empty(t, sources)
			return
		}
		text, err := FromDescription(d, sources)
		if err != nil {
			return
		}
		again, _, err := Describe(d.Type.Name, text) // what is taken over is true
		require.NoError(t, err)
		require.Equal(t, d.Hash(), again.Hash())
	})
}
