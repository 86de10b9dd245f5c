package bag_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/qos"
	"rosbagd/storage/storagetest"
)

// require.TestingT with a place for files; *testing.T and *rapid.T have the first part.
type fatal interface {
	require.TestingT
	Helper()
}

// at is a message of a topic received and sent at these nanoseconds behind a second.
func at(topic storage.TopicID, received, sent int64) storage.Message {
	return storage.Message{
		Topic: topic, LogTimeNanos: 1e9 + received, PublishTimeNanos: 1e9 + sent,
		Data: []byte{0, 1, 0, 0, byte(topic), byte(received), byte(sent)},
	}
}

// writeFile makes one file with the topics /a and /b.
func writeFile(t fatal, path string, messages []storage.Message) {
	t.Helper()
	id := "mcap"
	if filepath.Ext(path) == ".db3" {
		id = "sqlite3"
	}
	format, err := formats.Lookup(id)
	require.NoError(t, err)
	w, err := format.Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	require.NoError(t, w.Close())
}

// writeBag makes a bag directory of such files, called <directory>_0 and so on, with metadata.yaml.
func writeBag(t fatal, directory, extension string, files ...[]storage.Message) {
	t.Helper()
	require.NoError(t, os.MkdirAll(directory, 0o700))
	for i, messages := range files {
		writeFile(t, filepath.Join(directory, fmt.Sprintf("%s_%d%s", filepath.Base(directory), i, extension)), messages)
	}
	describeFiles(t, directory)
}

// describeFiles writes the metadata.yaml that the files tell.
func describeFiles(t fatal, directory string) {
	t.Helper()
	r, err := bag.Open(directory, bag.ReaderOptions{})
	require.NoError(t, err)
	data, err := r.Metadata().Encode()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, os.WriteFile(filepath.Join(directory, bag.MetadataName), data, 0o600))
}

// drain reads everything; faults are the errors met on the way.
func drain(t fatal, it storage.Iterator) (messages []storage.Message, faults []error) {
	t.Helper()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, it.Close())
			return messages, faults
		}
		if err != nil {
			require.Less(t, len(faults), 1000, "an error comes again and again: %v", err)
			faults = append(faults, err)
			continue
		}
		messages = append(messages, m)
	}
}

// TestMergeIsAStableSort compares any query on any files with the sorted list of all their messages.
func TestMergeIsAStableSort(t *testing.T) {
	root := t.TempDir()
	number := 0
	message := rapid.Custom(func(r *rapid.T) storage.Message {
		return at(storage.TopicID(rapid.IntRange(0, 1).Draw(r, "topic")), rapid.Int64Range(0, 60).Draw(r, "received"),
			rapid.Int64Range(0, 60).Draw(r, "sent"))
	})
	rapid.Check(t, func(r *rapid.T) {
		number++
		directory := filepath.Join(root, fmt.Sprint("bag", number))
		files := rapid.SliceOfN(rapid.SliceOfN(message, 0, 12), 1, 5).Draw(r, "files")
		writeBag(r, directory, ".mcap", files...)
		if rapid.Bool().Draw(r, "without metadata") {
			require.NoError(r, os.Remove(filepath.Join(directory, bag.MetadataName)))
		}
		reader, err := bag.Open(directory, bag.ReaderOptions{})
		require.NoError(r, err)
		if rapid.Bool().Draw(r, "check") {
			reader.CheckFiles()
		}
		query := bag.Query{Query: storage.Query{Order: storage.Order(rapid.IntRange(0, 2).Draw(r, "order"))}}
		if rapid.Bool().Draw(r, "from") {
			query.FromNanos = 1e9 + rapid.Int64Range(0, 60).Draw(r, "from nanos")
		}
		if query.HasUntil = rapid.Bool().Draw(r, "until"); query.HasUntil {
			query.UntilNanos = 1e9 + rapid.Int64Range(0, 60).Draw(r, "until nanos")
		}
		if rapid.Bool().Draw(r, "one topic") {
			query.Topics = []storage.TopicID{storage.TopicID(rapid.IntRange(0, 1).Draw(r, "which"))}
		}
		topics := reader.Topics()

		var want []string
		key := func(m storage.Message) int64 {
			switch query.Order {
			case storage.ByPublishTime:
				return m.PublishTimeNanos
			case storage.ByLogTime:
				return m.LogTimeNanos
			default:
				return 0
			}
		}
		var all []storage.Message
		var order []string
		for _, path := range reader.Files() {
			var i int
			_, err := fmt.Sscanf(filepath.Base(path), filepath.Base(directory)+"_%d.mcap", &i)
			require.NoError(r, err)
			for _, m := range files[i] {
				name := []string{"/a", "/b"}[m.Topic]
				if m.LogTimeNanos < query.FromNanos || (query.HasUntil && m.LogTimeNanos > query.UntilNanos) ||
					(query.Topics != nil && topics[query.Topics[0]].Name != name) {
					continue
				}
				all = append(all, m)
			}
		}
		slices.SortStableFunc(all, func(a, b storage.Message) int { return cmp.Compare(key(a), key(b)) })
		for _, m := range all {
			want = append(want, fmt.Sprint([]string{"/a", "/b"}[m.Topic], m.LogTimeNanos, m.PublishTimeNanos, string(m.Data)))
		}
		query.OnFile = func(_, opened string) { order = append(order, opened) }
		it, err := reader.Messages(query)
		require.NoError(r, err)
		messages, faults := drain(r, it)
		require.Empty(r, faults)
		var got []string
		for _, m := range messages {
			got = append(got, fmt.Sprint(topics[m.Topic].Name, m.LogTimeNanos, m.PublishTimeNanos, string(m.Data)))
		}
		require.Equal(r, want, got)
		require.Len(r, slices.Compact(slices.Sorted(slices.Values(order))), len(order), "a file is told once")
		require.NoError(r, reader.Close())
	})
}

func TestOnFileOfFilesThatOverlap(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap",
		[]storage.Message{at(0, 1, 1), at(0, 4, 4)}, []storage.Message{at(0, 2, 2), at(0, 3, 3)}, []storage.Message{at(1, 3, 3)}, nil,
		[]storage.Message{at(0, 9, 9)})
	r := open(t, directory)
	var told []string
	read(t, r, bag.Query{
		Query:  storage.Query{Topics: []storage.TopicID{0}},
		OnFile: func(closed, opened string) { told = append(told, filepath.Base(closed)+">"+filepath.Base(opened)) },
	})
	require.Equal(t, []string{".>x_0.mcap", "x_0.mcap>x_1.mcap", "x_1.mcap>x_2.mcap", "x_2.mcap>x_3.mcap", "x_3.mcap>x_4.mcap"}, told)
}

// TestAFileThatIsGoneCostsItsMessagesOnly in whichever place of the bag it was.
func TestAFileThatIsGoneCostsItsMessagesOnly(t *testing.T) {
	for gone := range 3 {
		directory := filepath.Join(t.TempDir(), "x")
		writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)}, []storage.Message{at(0, 2, 2)}, []storage.Message{at(0, 3, 3)})
		require.NoError(t, os.Remove(filepath.Join(directory, fmt.Sprintf("x_%d.mcap", gone))))
		r := open(t, directory)
		it, err := r.Messages(bag.Query{})
		require.NoError(t, err)
		messages, faults := drain(t, it)
		require.Len(t, messages, 2)
		require.Len(t, faults, 1)
		require.ErrorIs(t, faults[0], fs.ErrNotExist)
		require.Len(t, r.Notes(), 1)
	}
}

// TestManyBagsAreOne: two robots, one clock.
func TestManyBagsAreOne(t *testing.T) {
	root := t.TempDir()
	first, second := filepath.Join(root, "first"), filepath.Join(root, "second")
	writeBag(t, first, ".mcap", []storage.Message{at(0, 1, 1), at(0, 5, 5)}, []storage.Message{at(1, 7, 7)})
	writeBag(t, second, ".db3", []storage.Message{at(0, 2, 2), at(1, 5, 5), at(1, 6, 6)})
	r, err := bag.OpenAll([]string{first, second}, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var got []int64
	for _, m := range read(t, r, bag.Query{}) {
		got = append(got, m.LogTimeNanos-1e9)
	}
	require.Equal(t, []int64{1, 2, 5, 5, 6, 7}, got)
	got = nil
	for _, m := range read(t, r, bag.Query{Query: storage.Query{Order: storage.ByFile}}) {
		got = append(got, m.LogTimeNanos-1e9)
	}
	require.Equal(t, []int64{1, 5, 7, 2, 5, 6}, got)

	m := r.Metadata()
	require.Equal(t, uint64(6), m.MessageCount)
	require.Equal(t, int64(1e9+1), m.StartNanos)
	require.Equal(t, 6*time.Nanosecond, m.Duration)
	require.Equal(t, "mcap, sqlite3", m.StorageID)
	paths := []string{filepath.Join(first, "first_0.mcap"), filepath.Join(first, "first_1.mcap"), filepath.Join(second, "second_0.db3")}
	require.Equal(t, paths, m.Paths)
	require.Equal(t, paths, r.Files())
	require.Len(t, m.Files, 3)
	require.Equal(t, paths[2], m.Files[2].Path)
	require.Equal(t, uint64(3), m.Files[2].MessageCount)
	topics := r.Topics()
	require.Len(t, topics, 2)
	require.Equal(t, uint64(3), topics[0].MessageCount)
	require.Equal(t, storagetest.Topic("/a").OfferedQoS, topics[0].OfferedQoS, "the same offers are not listed twice")
	definition, err := r.Definition(1)
	require.NoError(t, err)
	require.Equal(t, storagetest.Topic("/b").Definition, definition)

	single, err := bag.OpenAll([]string{filepath.Join(first, "first_1.mcap"), second}, bag.ReaderOptions{})
	require.NoError(t, err)
	require.Len(t, read(t, single, bag.Query{}), 4)
	require.Equal(t, []string{paths[1], paths[2]}, single.Metadata().Paths)
	require.NoError(t, single.Close())
}

func TestOffersOfManyBagsAreJoined(t *testing.T) {
	root := t.TempDir()
	write := func(name, typ string, offers ...qos.Profile) string {
		path := filepath.Join(root, name)
		w, err := bag.Create(path, bag.WriterOptions{ROSDistro: name, CustomData: map[string]string{"from": name, name: "1"}})
		require.NoError(t, err)
		_, err = w.AddTopic(storage.Topic{Name: "/x", Type: typ, SerializationFormat: "cdr", OfferedQoS: offers})
		require.NoError(t, err)
		require.NoError(t, w.Seal())
		return path
	}
	reliable := qos.Profile{Reliability: qos.Reliable}
	best := qos.Profile{Reliability: qos.BestEffort}
	one := write("one", "std_msgs/msg/String", reliable, reliable)
	two := write("two", "std_msgs/msg/String", best, reliable)
	r, err := bag.OpenAll([]string{one, two}, bag.ReaderOptions{})
	require.NoError(t, err)
	require.Equal(t, []qos.Profile{reliable, reliable, best}, r.Topics()[0].OfferedQoS)
	require.Equal(t, map[string]string{"from": "one", "one": "1", "two": "1"}, r.Metadata().CustomData)
	require.Equal(t, "one, two", r.Metadata().ROSDistro)
	require.Zero(t, r.Metadata().StartNanos)
	require.NoError(t, r.Close())

	other := write("other", "std_msgs/msg/Int8")
	_, err = bag.OpenAll([]string{one, other}, bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrTopicType)
	for _, part := range []string{"/x", one, other, "std_msgs/msg/String", "std_msgs/msg/Int8"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "\n")
	_, err = bag.OpenAll(nil, bag.ReaderOptions{})
	require.ErrorIs(t, err, bag.ErrNoBag)
}

// TestOnFileOfFilesWithoutMessages: rosbag2 opens them too, and says so.
func TestOnFileOfFilesWithoutMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	w := create(t, path, bag.WriterOptions{})
	messages := storagetest.Messages(3, 0)
	for i, part := range [][]storage.Message{nil, messages[:1], nil, messages[1:], nil} {
		if i > 0 {
			_, _, err := w.Split()
			require.NoError(t, err)
		}
		require.NoError(t, w.Write(part))
	}
	require.NoError(t, w.Seal())
	var told []string
	all := read(t, open(t, path), bag.Query{OnFile: func(closed, opened string) {
		told = append(told, filepath.Base(closed)+">"+filepath.Base(opened))
	}})
	require.Equal(t, messages, all)
	require.Equal(t, []string{".>x_1.mcap", "x_1.mcap>x_2.mcap", "x_2.mcap>x_3.mcap", "x_3.mcap>x_4.mcap"}, told)
}
