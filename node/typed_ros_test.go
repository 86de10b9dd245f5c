//go:build ros

package node

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func loadTyped(t testing.TB, typ string) *typed {
	t.Helper()
	found, err := new(typeSupports).loadTyped(typ)
	require.NoError(t, err)
	return found
}

// defaults is the serialized message whose fields all have their defaults.
func defaults(t testing.TB, typ *typed) []byte {
	t.Helper()
	message, err := typ.make()
	require.NoError(t, err)
	defer typ.free(message)
	data, err := typ.write(message)
	require.NoError(t, err)
	return data
}

func structTypes() []string {
	return []string{
		"test_msgs/msg/UnboundedSequences", "test_msgs/msg/BoundedSequences", "test_msgs/msg/BoundedPlainSequences",
		"test_msgs/msg/Strings", "test_msgs/msg/WStrings", "test_msgs/msg/MultiNested", "test_msgs/msg/Arrays",
		"test_msgs/msg/Nested", "test_msgs/msg/Builtins", "test_msgs/msg/Empty", "sensor_msgs/msg/PointCloud2",
		"diagnostic_msgs/msg/DiagnosticArray", "test_msgs/srv/Arrays_Request",
		"test_msgs/action/Fibonacci_SendGoal_Request", "action_msgs/srv/CancelGoal_Request",
	}
}

// Bytes that are whole become a struct and the same bytes again.
func TestStructsKeepTheBytes(t *testing.T) {
	for _, name := range structTypes() {
		typ := loadTyped(t, name)
		data := defaults(t, typ)
		message, err := typ.read(data)
		require.NoError(t, err, name)
		again, err := typ.write(message)
		typ.free(message)
		require.NoError(t, err, name)
		require.Equal(t, data, again, name)
		for size := range data {
			_, err := typ.read(data[:size])
			require.Error(t, err, "%s: %d of %d bytes", name, size, len(data))
		}
	}
}

// A length that the bytes do not cover is found before anybody makes room for it.
func TestLengthsThatLie(t *testing.T) {
	header := []byte{0, 1, 0, 0}
	for name, test := range map[string]struct {
		typ   string
		data  []byte
		field string
	}{
		"string":         {"std_msgs/msg/String", le(header, math.MaxUint32), "data"},
		"wide string":    {"test_msgs/msg/WStrings", le(header, math.MaxUint32/4), "wstring_value"},
		"numbers":        {"test_msgs/msg/UnboundedSequences", le(header, 0x7fffffff), "bool_values"},
		"messages":       {"test_msgs/msg/MultiNested", make([]byte, 200), ""},
		"big endian":     {"std_msgs/msg/String", []byte{0, 0, 0, 0, 0, 0, 0, 9, 'a'}, "data"},
		"nested strings": {"diagnostic_msgs/msg/DiagnosticArray", le(header, 0, 0, 0, 1, 0, 0xffffff), "name"},
	} {
		typ := loadTyped(t, test.typ)
		_, err := typ.read(test.data)
		require.ErrorContains(t, err, "bytes end before field "+test.field, name)
	}
	for _, encapsulation := range [][]byte{{0, 2, 0, 0}, {0, 3, 0, 0}, {0, 7, 0, 0}, {1, 1, 0, 0}} {
		_, err := loadTyped(t, "std_msgs/msg/String").read(append(encapsulation, 0, 0, 0, 0))
		require.ErrorContains(t, err, "not that of plain CDR")
	}
	// The other byte order is read, whatever this machine's is.
	typ := loadTyped(t, "std_msgs/msg/String")
	message, err := typ.read([]byte{0, 0, 0, 0, 0, 0, 0, 2, 'a', 0})
	require.NoError(t, err)
	defer typ.free(message)
	data, err := typ.write(message)
	require.NoError(t, err)
	require.Equal(t, stringMessage("a"), data)
}

func le(header []byte, words ...uint32) []byte {
	data := slices.Clone(header)
	for _, word := range words {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	return data
}

// Whatever the bytes are: an error of one line, or a message that can be written.
func TestHostileBytes(t *testing.T) {
	var types []*typed
	var good [][]byte
	for _, name := range structTypes() {
		types = append(types, loadTyped(t, name))
		good = append(good, append(defaults(t, types[len(types)-1]), make([]byte, 64)...))
	}
	lies := []uint32{0, 1, 2, 0xff, 1 << 16, 1_000_000, 0x10000000, 0x20000001, 0x40000000, 0x7fffffff, 0x80000000, math.MaxUint32}
	rapid.Check(t, func(t *rapid.T) {
		which := rapid.IntRange(0, len(types)-1).Draw(t, "type")
		data := slices.Clone(good[which])
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			at := 4 + 4*rapid.IntRange(0, (len(data)-8)/4).Draw(t, "word")
			binary.LittleEndian.PutUint32(data[at:], rapid.SampledFrom(lies).Draw(t, "value"))
		}
		data = data[:rapid.IntRange(0, len(data)).Draw(t, "size")]
		message, err := types[which].read(data)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		defer types[which].free(message)
		_, err = types[which].write(message)
		require.NoError(t, err)
	})
}
