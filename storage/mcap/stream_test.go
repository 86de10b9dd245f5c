package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

func TestStreamOfACompressedFile(t *testing.T) {
	data := recorded(t, Options{Compression: CompressionLZ4}, true)
	want := scanPlainly(t, data).given()
	var packed bytes.Buffer
	encoder, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	_, err = encoder.Write(data)
	require.NoError(t, err)
	require.NoError(t, encoder.Close())
	decoder, err := zstd.NewReader(&packed, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	defer decoder.Close()
	for name, from := range map[string]io.Reader{
		"unpacking": decoder, "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
		"error with the last bytes": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		topics, got, faults := drain(t, from)
		require.Empty(t, faults, name)
		require.Equal(t, want, givenBy(topics, got), name)
	}
}

func TestStreamOfForeignAndEmptyFiles(t *testing.T) {
	_, err := OpenStream("x", bytes.NewReader(nil))
	require.ErrorIs(t, err, storage.ErrEmpty)
	_, err = OpenStream("x", bytes.NewReader([]byte("this is a text")))
	require.ErrorIs(t, err, storage.ErrUnknownFormat)
	broken := errors.New("broken pipe")
	_, err = OpenStream("x", iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}

// TestStreamErrorsAreNoDamage gives an error of reading as it is, and ends.
func TestStreamErrorsAreNoDamage(t *testing.T) {
	data := recorded(t, Options{}, true)
	broken := errors.New("broken pipe")
	s, err := OpenStream("x", io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)))
	require.NoError(t, err)
	given := 0
	for err == nil {
		if _, err = s.Next(); err == nil {
			given++
		}
	}
	require.ErrorIs(t, err, broken)
	require.False(t, storage.IsCorruption(err))
	require.Positive(t, given)
	_, err = s.Next()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, s.Close())
}

// TestDamagedStream gives every complete chunk whose channel came before it, and says what it met.
func TestDamagedStream(t *testing.T) {
	recordings(t, func(t *testing.T, l layout, random *rand.Rand) {
		data := l.channels[1][0][1] // behind the first channel, and the second is let alone too
		for range damagedFiles(t, 500) {
			damaged := bytes.Clone(l.data)
			var what string
			switch at := data + random.IntN(len(damaged)-data); random.IntN(3) {
			case 0:
				damaged, what = damaged[:at], fmt.Sprintf("cut at %d", at)
			case 1:
				damaged[at] ^= byte(1 + random.IntN(255))
				what = fmt.Sprintf("byte %d is %#x instead of %#x", at, damaged[at], l.data[at])
			case 2:
				clear(damaged[at:min(at+page, len(damaged))])
				what = fmt.Sprintf("page at %d", at)
			}
			late := l.channels[2][0]
			if late[1] <= len(damaged) {
				copy(damaged[late[0]:late[1]], l.data[late[0]:late[1]])
			}
			want, lost := l.left(damaged, true)
			for i := range want {
				want[i].channel = 0
			}
			_, got, faults := drain(t, bytes.NewReader(damaged))
			require.Equal(t, len(want), len(got), what)
			requireSame(t, want, saidBy(got), "%s", what)
			require.True(t, lost == 0 || len(faults) > 0, "%s: nothing is told of %d lost messages", what, lost)
		}
	})
}

// TestStreamMemoryIsThatOfAChunk streams a file that is many times larger than what it may hold.
func TestStreamMemoryIsThatOfAChunk(t *testing.T) {
	b := build(t).two()
	head := bytes.Clone(b.bytes)
	b.bytes = b.bytes[:8]
	b.chunk(chunkKind{}, said{1, 1, 1, string(make([]byte, 1<<20))}, said{2, 2, 2, "x"})
	chunk := b.bytes[8:]
	const chunks = 300
	parts := []io.Reader{bytes.NewReader(head)}
	for range chunks {
		parts = append(parts, bytes.NewReader(chunk))
	}
	parts = append(parts, bytes.NewReader(record1(0x0f, u32(0))))
	s, err := OpenStream("x", io.MultiReader(parts...))
	require.NoError(t, err)
	messages := 0
	most := uint64(0)
	for {
		_, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if messages++; messages%100 == 0 {
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			most = max(most, memory.HeapAlloc)
		}
	}
	require.Equal(t, 2*chunks, messages)
	require.Less(t, most, uint64(40<<20))
	require.NoError(t, s.Close())
}
