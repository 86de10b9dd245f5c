package mcap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

func TestSuite(t *testing.T) {
	for _, preset := range []string{"none", "fastwrite", "zstd_fast", "zstd_small"} {
		t.Run(preset, func(t *testing.T) {
			format := Format()
			create := format.Create
			format.Create = func(path string, options storage.CreateOptions) (storage.Writer, error) {
				if options.Preset == "" {
					options.Preset = preset
				}
				return create(path, options)
			}
			storagetest.Run(t, format, storagetest.Traits{Config: "compression: Lz4\nchunkSize: 500\n"})
		})
	}
	t.Run("lz4 in small chunks", func(t *testing.T) {
		format := Format()
		create := format.Create
		format.Create = func(path string, options storage.CreateOptions) (storage.Writer, error) {
			if options.Preset != "" || options.Config.Path != "" {
				return create(path, options)
			}
			return Create(path, Options{Compression: CompressionLZ4, ForceCompression: true, ChunkSize: 300, Metadata: options.Metadata})
		}
		storagetest.Run(t, format, storagetest.Traits{Config: "compression: Lz4\nchunkSize: 500\n"})
	})
}

func TestUnknownSettingsAreRefusedBeforeAFileIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mcap")
	_, err := Format().Create(path, storage.CreateOptions{Preset: "Zstd"})
	require.ErrorContains(t, err, "zstd_small")
	_, err = Create(path, Options{Compression: "brotli"})
	require.ErrorContains(t, err, "brotli")
	require.NoFileExists(t, path)
}

// newWriter makes a file with one topic.
func newWriter(t testing.TB, options Options) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Create(path, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	return w, path
}

// TestLibraryReadsTheFile checks what others see: the library of the format's authors reads everything back.
func TestLibraryReadsTheFile(t *testing.T) {
	for _, compression := range []Compression{CompressionNone, CompressionZstd, CompressionLZ4} {
		t.Run("compression "+string(compression), func(t *testing.T) {
			w, path := newWriter(t, Options{Compression: compression, ForceCompression: true, ChunkSize: 500, Metadata: []byte("version: 9")})
			unknown := storage.Topic{Name: "/unknown", Type: "x_msgs/msg/X", SerializationFormat: "cdr"}
			id, err := w.AddTopic(unknown)
			require.NoError(t, err)
			messages := storagetest.Messages(100, 0, id)
			require.NoError(t, w.Write(messages))
			require.NoError(t, w.Seal([]byte("version: 9\nmore: 1")))

			file, err := os.Open(path)
			require.NoError(t, err)
			defer file.Close()
			r, err := mcaplib.NewReader(file)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, "ros2", info.Header.Profile)
			require.Equal(t, libraryName, info.Header.Library)
			require.Equal(t, map[string]uint64{"/a": 50, "/unknown": 50}, info.ChannelCounts())
			require.Equal(t, uint64(messages[0].LogTimeNanos), info.Statistics.MessageStartTime)
			require.Equal(t, uint64(messages[99].LogTimeNanos), info.Statistics.MessageEndTime)
			require.Equal(t, int(info.Statistics.ChunkCount), len(info.ChunkIndexes))
			require.Greater(t, len(info.ChunkIndexes), 5)
			require.Len(t, info.MetadataIndexes, 2)
			require.Equal(t, "", info.Schemas[2].Encoding)
			require.Equal(t, storagetest.Topic("/a").TypeHash, info.Channels[1].Metadata[typeHashKey])
			require.True(t, strings.HasPrefix(info.Channels[1].Metadata[qosKey], "- history: keep_last\n  depth: 10\n"))

			it, err := r.Messages(mcaplib.UsingIndex(true))
			require.NoError(t, err)
			for _, want := range messages {
				_, channel, m, err := it.NextInto(nil)
				require.NoError(t, err)
				require.Equal(t, uint16(want.Topic+1), channel.ID)
				require.Equal(t, uint64(want.LogTimeNanos), m.LogTime)
				require.Equal(t, uint64(want.PublishTimeNanos), m.PublishTime)
				require.Equal(t, want.Data, m.Data)
			}
			_, _, _, err = it.NextInto(nil)
			require.ErrorIs(t, err, io.EOF)

			lexer, err := mcaplib.NewLexer(mustOpen(t, path), &mcaplib.LexerOptions{ValidateChunkCRCs: true})
			require.NoError(t, err)
			defer lexer.Close()
			for {
				_, _, err := lexer.Next(nil)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
			}
		})
	}
}

func mustOpen(t *testing.T, path string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return bytes.NewReader(data)
}

func TestLargeMessageGetsAChunkOfItsOwn(t *testing.T) {
	w, path := newWriter(t, Options{ChunkSize: 1000})
	messages := storagetest.Messages(5, 0)
	messages[2].Data = make([]byte, 5000)
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, 3, r.contents.chunks.count)
	second, err := r.contents.chunks.chunk(r.source, 1)
	require.NoError(t, err)
	require.Equal(t, messages[2].LogTimeNanos, second.start)
	require.Equal(t, messages[2].LogTimeNanos, second.end)
}

func TestMessageThatIsTooLargeCostsItself(t *testing.T) {
	w, _ := newWriter(t, Options{})
	w.maxMessage = 100
	messages := storagetest.Messages(3, 0)
	messages[1].Data = make([]byte, 101)
	var rejected *storage.RejectedError
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.ErrorIs(t, rejected, errTooLarge)
	require.Equal(t, []int{1}, rejected.Indexes)
	require.Equal(t, uint64(2), w.Info().MessageCount)
}

func TestWritingAllocatesNothingForAMessage(t *testing.T) {
	w, _ := newWriter(t, Options{ChunkSize: 64 << 10})
	messages := storagetest.Messages(1000, 0)
	for range 10 {
		require.NoError(t, w.Write(messages))
	}
	perWrite := testing.AllocsPerRun(50, func() { require.NoError(t, w.Write(messages)) })
	require.Less(t, perWrite, 20.0, "allocations for 1000 messages")
}
