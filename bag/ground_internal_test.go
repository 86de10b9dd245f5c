package bag

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// wrapped gives a ground whose files are real ones, each within what wrap makes of it.
func wrapped(wrap func(storage.Writer) storage.Writer) ground {
	return ground{
		files: storage.OSFiles{}, open: openDirectory,
		lookup: func(id string) (storage.Format, error) {
			format, err := formats.Lookup(id)
			inner := format.Create
			format.Create = func(path string, options storage.CreateOptions) (storage.Writer, error) {
				w, err := inner(path, options)
				if err != nil {
					return nil, err
				}
				return wrap(w), nil
			}
			return format, err
		},
	}
}

func sizedMessages(n, size int) []storage.Message {
	messages := storagetest.Messages(n, 0)
	random := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	for i := range messages {
		messages[i].Data = make([]byte, random.IntN(2*size))
		for j := 0; j < len(messages[i].Data); j += 3 {
			messages[i].Data[j] = byte(random.Uint32())
		}
	}
	return messages
}

// readAll opens a bag and reads it by file.
func readAll(t *testing.T, path string) ([]storage.Message, Metadata) {
	t.Helper()
	r, err := Open(path, ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Messages(Query{})
	require.NoError(t, err)
	return storagetest.All(t, it), r.Metadata()
}

// runWriter starts Run; the function returned seals and waits for it.
func runWriter(w *Writer) (seal func() error) {
	done := make(chan error, 1)
	go func() { done <- w.Run(context.Background()) }()
	return func() error {
		err := w.Seal()
		if ran := <-done; err == nil && ran != nil {
			return fmt.Errorf("Run failed, Seal did not: %w", ran)
		}
		return err
	}
}

// sizeWatch asks a real file for its size before every single message.
type sizeWatch struct {
	storage.Writer
	t       *testing.T
	limit   int64
	written int
}

func (s *sizeWatch) Write(messages []storage.Message) error {
	for i := range messages {
		if s.written > 0 {
			require.Less(s.t, s.Size(), s.limit, "this message belongs into the next file")
		}
		s.written++
		if err := s.Writer.Write(messages[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TestSplitBySize holds a Writer to rosbag2's rule, a look at the size before each message, though it looks less often.
func TestSplitBySize(t *testing.T) {
	for name, test := range map[string]struct {
		preset   string
		limit    int64
		messages []storage.Message
	}{
		"plain":        {"none", 100_000, sizedMessages(3000, 300)},
		"compressed":   {"zstd_fast", 3_000_000, sizedMessages(20_000, 300)},
		"large ones":   {"none", 100_000, sizedMessages(20, 200_000)},
		"small ones":   {"none", 100_000, sizedMessages(20_000, 4)},
		"always above": {"none", 1024, sizedMessages(30, 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			var files []*sizeWatch
			on := wrapped(func(w storage.Writer) storage.Writer {
				if n := len(files); n > 0 {
					require.GreaterOrEqual(t, files[n-1].Size(), test.limit, "split too early")
				}
				files = append(files, &sizeWatch{Writer: w, t: t, limit: test.limit})
				return files[len(files)-1]
			})
			path := filepath.Join(t.TempDir(), "demo")
			w, err := createOn(on, path, WriterOptions{Preset: test.preset, MaxSize: test.limit})
			require.NoError(t, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			for rest := test.messages; len(rest) > 0; {
				n := min(len(rest), 1+len(rest)%17)
				require.NoError(t, w.Write(rest[:n]))
				rest = rest[n:]
			}
			require.NoError(t, w.Seal())
			messages, metadata := readAll(t, path)
			require.Equal(t, test.messages, messages)
			require.Greater(t, len(metadata.Files), 1)
		})
	}
}
