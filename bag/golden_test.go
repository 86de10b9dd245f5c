package bag_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const golden = "testdata/rosbag2"

// found is what independent readers found in a bag.
type found struct {
	Messages uint64 `json:"messages"`
	Topics   map[string]foundTopic
}

type foundTopic struct {
	Type   string
	Count  uint64
	First  int64
	Last   int64
	SHA256 string
}

func expected(t *testing.T) map[string]found {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(golden, "expected.json"))
	require.NoError(t, err)
	var all map[string]found
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	return all
}

// read gives all messages with the topics' names.
func read(t *testing.T, r *bag.Reader, query bag.Query) []storage.Message {
	t.Helper()
	it, err := r.Messages(query)
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	var messages []storage.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return messages
		}
		require.NoError(t, err)
		messages = append(messages, m)
	}
}

func open(t *testing.T, path string) *bag.Reader {
	t.Helper()
	r, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func compare(t *testing.T, want found, r *bag.Reader) {
	t.Helper()
	type sum struct {
		foundTopic
		hash hash.Hash
	}
	sums := map[string]*sum{}
	topics := r.Topics()
	for _, m := range read(t, r, bag.Query{Query: storage.Query{Order: storage.ByFile}}) {
		topic := topics[m.Topic]
		s := sums[topic.Name]
		if s == nil {
			s = &sum{foundTopic: foundTopic{Type: topic.Type, First: m.LogTimeNanos}, hash: sha256.New()}
			sums[topic.Name] = s
		}
		s.Count++
		s.First, s.Last = min(s.First, m.LogTimeNanos), max(s.Last, m.LogTimeNanos)
		s.hash.Write(m.Data)
	}
	got := map[string]foundTopic{}
	for name, s := range sums {
		s.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
		got[name] = s.foundTopic
	}
	for name, topic := range want.Topics {
		if topic.Count == 0 {
			delete(want.Topics, name)
		}
	}
	require.Equal(t, want.Topics, got)
	require.Equal(t, want.Messages, r.Metadata().MessageCount)
}

func copyBag(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.CopyFS(to, os.DirFS(filepath.Join(golden, name))))
	return to
}

// correctText puts right what rosbag2 wrote wrong, the duration of the first file of a split bag, and puts custom data
// into the order of the alphabet, as we write it: rosbag2 has no order for it.
func correctText(name, text string) string {
	switch name {
	case "mcap_file_zstd_split":
		return strings.Replace(text, "nanoseconds: 1477572\n", "nanoseconds: 445008780\n", 1)
	case "sqlite3_plain":
		return strings.Replace(text, "    site: hall 7\n    robot: r2\n", "    robot: r2\n    site: hall 7\n", 1)
	default:
		return text
	}
}

func correct(t *testing.T, path string) {
	t.Helper()
	name := filepath.Join(path, bag.MetadataName)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, []byte(correctText(filepath.Base(path), string(data))), 0o600))
}

// described are the bags that rosbag2 finished.
func described(t *testing.T) map[string]found {
	t.Helper()
	all := expected(t)
	delete(all, "sqlite3_killed")
	return all
}

// requireNotes expects the notes that a bag of rosbag2 gives rise to once it was read.
func requireNotes(t *testing.T, name string, notes []string) {
	t.Helper()
	if name != "sqlite3_file_zstd_no_end_frame" {
		require.Empty(t, notes)
		return
	}
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "has no end mark")
}

func TestReadsBagsOfRosbag2(t *testing.T) {
	for name, want := range expected(t) {
		t.Run(name, func(t *testing.T) { compare(t, want, open(t, filepath.Join(golden, name))) })
	}
}

func TestReadsBagsOfRosbag2WithoutMetadata(t *testing.T) {
	for name, want := range described(t) {
		t.Run(name, func(t *testing.T) {
			path := copyBag(t, name)
			correct(t, path)
			with := open(t, path)
			require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
			without := open(t, path)
			compare(t, want, without)
			require.Equal(t, byName(with.Metadata()), byName(without.Metadata()))
			requireNotes(t, name, without.Notes())
		})
	}
}

// TestReadsBagsOfRosbag2FromReadOnlyMedia reads, checks and seeks where nothing can be written, and looks that nothing
// was.
func TestReadsBagsOfRosbag2FromReadOnlyMedia(t *testing.T) {
	for name, want := range expected(t) {
		t.Run(name, func(t *testing.T) {
			path := copyBag(t, name)
			makeReadOnly(t, path)
			before := snapshot(t, path)
			r := open(t, path)
			r.CheckFiles()
			compare(t, want, r)
			m := r.Metadata()
			half := read(t, r, bag.Query{Query: storage.Query{FromNanos: m.StartNanos + int64(m.Duration/2)}})
			require.NotEmpty(t, half)
			require.Less(t, uint64(len(half)), want.Messages)
			requireNotes(t, name, r.Notes())
			require.Equal(t, before, snapshot(t, path))
		})
	}
}

// TestReadsBagsOfRosbag2AfterAMove renames the directory and reads it by another kind of path.
func TestReadsBagsOfRosbag2AfterAMove(t *testing.T) {
	for name, want := range expected(t) {
		t.Run(name, func(t *testing.T) {
			path := copyBag(t, name)
			parent := filepath.Join(filepath.Dir(path), "elsewhere")
			require.NoError(t, os.Mkdir(parent, 0o700))
			require.NoError(t, os.Rename(path, filepath.Join(parent, "renamed")))
			t.Chdir(parent)
			compare(t, want, open(t, "renamed"))
			compare(t, want, open(t, "./renamed/"))
		})
	}
}

func makeReadOnly(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.Chmod(filepath.Join(directory, entry.Name()), 0o400))
	}
	require.NoError(t, os.Chmod(directory, 0o500))
	t.Cleanup(func() { require.NoError(t, os.Chmod(directory, 0o700)) })
}

// byName orders the topics: files list them in another order than metadata.yaml, and know their size.
func byName(m bag.Metadata) bag.Metadata {
	m.Topics = slices.Clone(m.Topics)
	for i := range m.Topics {
		m.Topics[i].PayloadBytes = 0
	}
	slices.SortFunc(m.Topics, func(a, b storage.TopicInfo) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return m
}

func TestSingleFileOfASplitBag(t *testing.T) {
	r := open(t, filepath.Join(golden, "mcap_split", "mcap_split_1.mcap"))
	require.Equal(t, uint64(154), r.Metadata().MessageCount)
	require.Len(t, read(t, r, bag.Query{}), 154)
	require.Equal(t, []string{"mcap_split_1.mcap"}, r.Metadata().Paths)
}

func TestMetadataOfRosbag2IsReproducedByteForByte(t *testing.T) {
	for name := range described(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(golden, name, bag.MetadataName)
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			want = []byte(correctText(name, string(want)))
			m, err := bag.DecodeMetadata(path, want)
			require.NoError(t, err)
			got, err := m.Encode()
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

func TestOffersOfRosbag2(t *testing.T) {
	topics := open(t, filepath.Join(golden, "mcap_plain")).Topics()
	at := slices.IndexFunc(topics, func(topic storage.TopicInfo) bool { return topic.Name == "/map" })
	require.Equal(t, qos.Profile{
		History: qos.HistoryUnknown, Reliability: qos.Reliable, Durability: qos.TransientLocal, Deadline: qos.Infinite,
		Lifespan: qos.Infinite, Liveliness: qos.Automatic, LivelinessLeaseDuration: qos.Infinite,
	}, topics[at].OfferedQoS[0])
}

func TestBagKilledBeforeItsFirstByte(t *testing.T) {
	_, err := bag.Open(filepath.Join(golden, "mcap_killed"), bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrEmpty)
}
