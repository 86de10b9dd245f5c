package sqlite3

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// golden are bags that rosbag2 wrote.
const golden = "../../bag/testdata/rosbag2"

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// TestReadsFilesOfRosbag2 compares with what SQLite itself finds.
func TestReadsFilesOfRosbag2(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden, "*", "*.db3"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 9)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			before, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			r := open(t, path)
			want := selectAll(t, path, "ORDER BY timestamp, messages.id")
			require.NotEmpty(t, want)
			require.Equal(t, want, texts(r, query(t, r, storage.Query{})))
			require.Equal(t, selectAll(t, path, "ORDER BY messages.id"), texts(r, query(t, r, storage.Query{Order: storage.ByFile})))
			require.Equal(t, uint64(len(want)), r.Info().MessageCount)
			require.Equal(t, "jazzy", r.Info().ROSDistro)
			require.Contains(t, string(r.Info().Metadata), "version: 9")
			for _, topic := range r.Info().Topics {
				require.NotEmpty(t, topic.TypeHash)
				require.NotEmpty(t, topic.OfferedQoS)
				require.Contains(t, []string{"ros2msg", "ros2idl", ""}, topic.Definition.Encoding)
			}
			after, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Equal(t, len(before), len(after))
		})
	}
}

// line is a message as text: topic, time, digest.
type line struct {
	topic  string
	nanos  int64
	digest string
}

func texts(r storage.Reader, messages []storage.Message) []line {
	topics := r.Info().Topics
	var lines []line
	for _, m := range messages {
		lines = append(lines, line{topics[m.Topic].Name, m.LogTimeNanos, digest(m.Data)})
	}
	return lines
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// query gives all messages that are asked for, and takes no damage.
func query(t testing.TB, r storage.Reader, q storage.Query) []storage.Message {
	t.Helper()
	it, err := r.Messages(q)
	require.NoError(t, err)
	var messages []storage.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, it.Close())
			return messages
		}
		require.NoError(t, err)
		messages = append(messages, m)
	}
}
