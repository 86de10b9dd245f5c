package bag_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/compression"
)

func frame(t *testing.T, content []byte) []byte {
	t.Helper()
	codec, err := compression.Lookup("zstd")
	require.NoError(t, err)
	data, err := codec.Compress(nil, content, 1)
	require.NoError(t, err)
	return data
}

// messageBag is a bag of one file whose metadata.yaml says that these payloads are compressed.
func messageBag(t *testing.T, extension, mode, format string, payloads ...[]byte) string {
	t.Helper()
	var messages []storage.Message
	for i, payload := range payloads {
		m := at(0, int64(i), int64(i))
		m.Data = payload
		messages = append(messages, m)
	}
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, extension, messages)
	name := filepath.Join(directory, bag.MetadataName)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	m, err := bag.DecodeMetadata(name, text)
	require.NoError(t, err)
	m.CompressionMode, m.CompressionFormat = mode, format
	text, err = m.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return directory
}

func TestCompressedMessages(t *testing.T) {
	plain := [][]byte{[]byte("\x00\x01\x00\x00one"), bytes.Repeat([]byte("two "), 5000), make([]byte, 30<<20)}
	var frames [][]byte
	for _, p := range plain {
		frames = append(frames, frame(t, p))
	}
	check := func(t *testing.T, path string) {
		t.Helper()
		r := open(t, path)
		require.Equal(t, bag.CompressionMessage, r.Metadata().CompressionMode)
		require.Equal(t, "zstd", r.Metadata().CompressionFormat)
		messages := read(t, r, bag.Query{})
		require.Len(t, messages, 3)
		for i, m := range messages {
			require.True(t, bytes.Equal(plain[i], m.Data))
		}
	}
	for _, extension := range []string{".mcap", ".db3"} {
		for _, mode := range []string{"MESSAGE", "message", "Message"} {
			t.Run(extension+" "+mode, func(t *testing.T) {
				path := messageBag(t, extension, mode, "zstd", frames...)
				check(t, path)
				require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
				check(t, path) // by what the messages begin with
			})
		}
	}
}

// TestAPayloadThatIsNoFrameCostsOneMessage, whatever it claims.
func TestAPayloadThatIsNoFrameCostsOneMessage(t *testing.T) {
	good := []byte("\x00\x01\x00\x00good")
	cut := frame(t, bytes.Repeat([]byte("0123456789"), 1000))
	lie := frame(t, make([]byte, 5000))
	lie = bytes.Replace(lie, []byte{0x88, 0x12}, []byte{0x89, 0x12}, 1) // 5000 - 256, little endian, and one more
	damaged := [][]byte{
		good, nil,
		{0x28},
		cut[:len(cut)-3], lie, append(frame(t, good), "trailing"...),
		{0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x40, 1, 0, 0},
	}
	for i, payload := range damaged {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := open(t, messageBag(t, ".mcap", "MESSAGE", "zstd", frame(t, good), payload, frame(t, good)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			it, err := r.Messages(bag.Query{})
			require.NoError(t, err)
			messages, faults := drain(t, it)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
			require.Len(t, messages, 2)
			require.Len(t, faults, 1)
			var corruption *storage.CorruptionError
			require.ErrorAs(t, faults[0], &corruption)
			require.Contains(t, faults[0].Error(), "message of /a at 1000000001: ")
			require.NotContains(t, faults[0].Error(), "byte -1")
		})
	}
}

func TestCompressionThatIsNotKnown(t *testing.T) {
	_, err := bag.Open(messageBag(t, ".mcap", "MESSAGE", "lzma", []byte("x")), bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrUnsupported)
	require.ErrorContains(t, err, "lzma")
	_, err = bag.Open(messageBag(t, ".mcap", "BLOCK", "zstd", []byte("x")), bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrUnsupported)
	require.ErrorContains(t, err, "BLOCK")
	// What metadata.yaml calls no compression is none.
	require.Len(t, read(t, open(t, messageBag(t, ".mcap", "none", "", []byte("x"))), bag.Query{}), 1)
}
