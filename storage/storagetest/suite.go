package storagetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Traits say in what a format differs from the others.
type Traits struct {
	// NoPublishTime: the format keeps no publish time; it equals the log time when read.
	NoPublishTime bool
	// Config is a storage config file of the format that can be written and read with.
	Config string
}

// Run tests a format.
func Run(t *testing.T, format storage.Format, traits Traits) {
	s := suite{format: format, traits: traits}
	tests := []struct {
		name string
		test func(*testing.T)
	}{
		{"write and read back", s.writeAndRead},
		{"select topics", s.selectTopics},
		{"select times", s.selectTimes},
		{"order", s.order},
		{"file without messages", s.noMessages},
		{"many topics", s.manyTopics},
		{"unicode", s.unicode},
		{"large message", s.largeMessage},
		{"unfinished file", s.unfinished},
		{"bad message costs itself only", s.rejected},
		{"topic given twice", s.topicTwice},
		{"existing file is not touched", s.existing},
		{"finished writer", s.finished},
		{"newest metadata wins", s.metadata},
		{"reading changes nothing", s.readOnly},
		{"foreign and empty files", s.foreign},
		{"equal times", s.equalTimes},
		{"times that only go back", s.reverse},
		{"payloads of all sizes", s.sizes},
		{"a thousand topics with gaps", s.sparseTopics},
		{"presets and config", s.presets},
		{"closed without an end", s.closed},
		{"file that is being written", s.live},
		{"calls from several goroutines", s.concurrent},
		{"seek as a model does", s.seek},
		{"messages outlive the reader", s.outlive},
	}
	for _, test := range tests {
		t.Run(test.name, test.test)
	}
}

type suite struct {
	format storage.Format
	traits Traits
}

// Topic is a topic with everything that a file keeps.
func Topic(name string) storage.Topic {
	return storage.Topic{
		Name: name, Type: "std_msgs/msg/String", SerializationFormat: "cdr",
		OfferedQoS: []qos.Profile{{
			History: qos.KeepLast, Depth: 10, Reliability: qos.Reliable, Durability: qos.Volatile, Deadline: qos.Infinite,
			Lifespan: qos.Infinite, Liveliness: qos.Automatic, LivelinessLeaseDuration: qos.Infinite,
		}},
		TypeHash:   "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
		Definition: storage.Definition{Encoding: "ros2msg", Text: "string data\n"},
	}
}

// Messages makes n messages that go round the topics, 1 ms apart, sent 100 us before they were received.
func Messages(n int, topics ...storage.TopicID) []storage.Message {
	const start, step, transport = 1_700_000_000_000_000_000, 1_000_000, 100_000
	messages := make([]storage.Message, 0, n)
	for i := range n {
		at := int64(start + i*step)
		messages = append(messages, storage.Message{
			Topic: topics[i%len(topics)], LogTimeNanos: at, PublishTimeNanos: at - transport,
			Data: fmt.Appendf(nil, "\x00\x01\x00\x00message %d", i),
		})
	}
	return messages
}

// All reads an iterator to its end.
func All(t *testing.T, it storage.Iterator) []storage.Message {
	t.Helper()
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

func (s suite) create(t *testing.T, topics ...storage.Topic) (storage.Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file"+s.format.Extension)
	w, err := s.format.Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	for i, topic := range topics {
		id, err := w.AddTopic(topic)
		require.NoError(t, err)
		require.Equal(t, storage.TopicID(i), id)
	}
	return w, path
}

func (s suite) open(t *testing.T, path string) storage.Reader {
	t.Helper()
	r, err := s.format.Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func (s suite) query(t *testing.T, r storage.Reader, q storage.Query) []storage.Message {
	t.Helper()
	it, err := r.Messages(q)
	require.NoError(t, err)
	return All(t, it)
}

// equal compares what was written with what was read.
func (s suite) equal(t *testing.T, want, got []storage.Message) {
	t.Helper()
	want = slices.Clone(want)
	for i := range want {
		if s.traits.NoPublishTime {
			want[i].PublishTimeNanos = want[i].LogTimeNanos
		}
		want[i].Sequence = 0
	}
	got = slices.Clone(got)
	for i := range got {
		got[i].Sequence = 0
	}
	require.Equal(t, want, got)
}

// sealed writes messages of two topics and opens the finished file.
func (s suite) sealed(t *testing.T, messages []storage.Message) storage.Reader {
	t.Helper()
	w, path := s.create(t, Topic("/a"), Topic("/b"))
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	return s.open(t, path)
}

func (s suite) writeAndRead(t *testing.T) {
	messages := Messages(1000, 0, 1)
	w, path := s.create(t, Topic("/a"), Topic("/b"))
	require.NoError(t, w.Write(messages[:300]))
	require.NoError(t, w.Flush())
	require.NoError(t, w.Sync())
	require.NoError(t, w.Write(messages[300:]))
	before := w.Info()
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	s.equal(t, messages, s.query(t, r, storage.Query{}))
	info := r.Info()
	require.Equal(t, s.format.ID, info.StorageID)
	require.Empty(t, info.Damage)
	for _, i := range []storage.Info{before, info} {
		require.Equal(t, uint64(1000), i.MessageCount)
		require.Equal(t, messages[0].LogTimeNanos, i.StartNanos)
		require.Equal(t, messages[999].LogTimeNanos, i.EndNanos)
		require.Len(t, i.Topics, 2)
		require.Equal(t, Topic("/a"), i.Topics[0].Topic)
		require.Equal(t, uint64(500), i.Topics[0].MessageCount)
	}
}

func (s suite) selectTopics(t *testing.T) {
	messages := Messages(100, 0, 1)
	r := s.sealed(t, messages)
	var odd []storage.Message
	for i := 1; i < len(messages); i += 2 {
		odd = append(odd, messages[i])
	}
	s.equal(t, odd, s.query(t, r, storage.Query{Topics: []storage.TopicID{1}}))
	require.Empty(t, s.query(t, r, storage.Query{Topics: []storage.TopicID{}}))
}

func (s suite) selectTimes(t *testing.T) {
	messages := Messages(100, 0, 1)
	r := s.sealed(t, messages)
	for _, test := range []struct{ from, until int }{{0, 99}, {10, 20}, {50, 50}, {99, 99}} {
		q := storage.Query{
			FromNanos: messages[test.from].LogTimeNanos, UntilNanos: messages[test.until].LogTimeNanos, HasUntil: true,
		}
		s.equal(t, messages[test.from:test.until+1], s.query(t, r, q))
	}
	s.equal(t, messages[60:], s.query(t, r, storage.Query{FromNanos: messages[59].LogTimeNanos + 1}))
	require.Empty(t, s.query(t, r, storage.Query{FromNanos: messages[99].LogTimeNanos + 1}))
	require.Empty(t, s.query(t, r, storage.Query{UntilNanos: messages[0].LogTimeNanos - 1, HasUntil: true}))
}

// order writes times that go back and repeat, in several chunks.
func (s suite) order(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	messages := Messages(300, 0)
	for i := range messages {
		messages[i].LogTimeNanos = 1000 + int64(i*7%50)
		messages[i].PublishTimeNanos = 500 + int64(i*11%30)
	}
	for start := 0; start < len(messages); start += 40 {
		require.NoError(t, w.Write(messages[start:min(start+40, len(messages))]))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	sorted := func(key func(storage.Message) int64) []storage.Message {
		result := slices.Clone(messages)
		slices.SortStableFunc(result, func(a, b storage.Message) int { return cmp.Compare(key(a), key(b)) })
		return result
	}
	logTime := func(m storage.Message) int64 { return m.LogTimeNanos }
	publishTime := func(m storage.Message) int64 { return m.PublishTimeNanos }
	if s.traits.NoPublishTime {
		publishTime = logTime
	}
	s.equal(t, sorted(logTime), s.query(t, r, storage.Query{Order: storage.ByLogTime}))
	s.equal(t, sorted(publishTime), s.query(t, r, storage.Query{Order: storage.ByPublishTime}))
	s.equal(t, messages, s.query(t, r, storage.Query{Order: storage.ByFile}))
}

func (s suite) noMessages(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	info := r.Info()
	require.Zero(t, info.MessageCount)
	require.Zero(t, info.StartNanos)
	require.Zero(t, info.EndNanos)
	require.Equal(t, []storage.TopicInfo{{Topic: Topic("/a")}}, info.Topics)
	require.Empty(t, info.Damage)
	require.Empty(t, s.query(t, r, storage.Query{}))
}

func (s suite) manyTopics(t *testing.T) {
	const n = 500
	w, path := s.create(t)
	ids := make([]storage.TopicID, 0, n)
	for i := range n {
		id, err := w.AddTopic(Topic(fmt.Sprintf("/topic_%d", i)))
		require.NoError(t, err)
		ids = append(ids, id)
	}
	messages := Messages(3*n, ids...)
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	require.Len(t, r.Info().Topics, n)
	require.Equal(t, uint64(3), r.Info().Topics[n-1].MessageCount)
	s.equal(t, messages, s.query(t, r, storage.Query{}))
}

func (s suite) unicode(t *testing.T) {
	topic := Topic("/größe/温度")
	topic.Definition.Text = "# Größe, 温度\nstring data\n"
	w, path := s.create(t, topic)
	require.NoError(t, w.Write(Messages(1, 0)))
	require.NoError(t, w.Seal([]byte("version: 9\ncustom_data:\n  ort: Zürich\n")))
	info := s.open(t, path).Info()
	require.Equal(t, topic, info.Topics[0].Topic)
	require.Contains(t, string(info.Metadata), "Zürich")
}

func (s suite) largeMessage(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	messages := Messages(3, 0)
	messages[1].Data = bytes.Repeat([]byte("0123456789"), 2<<20)
	require.NoError(t, w.Write(messages))
	require.Positive(t, w.Size())
	require.NoError(t, w.Seal(nil))
	s.equal(t, messages, s.query(t, s.open(t, path), storage.Query{}))
}

func (s suite) unfinished(t *testing.T) {
	messages := Messages(100, 0, 1)
	w, path := s.create(t, Topic("/a"), Topic("/b"))
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Flush())
	r := s.open(t, path)
	s.equal(t, messages, s.query(t, r, storage.Query{}))
	require.Equal(t, uint64(100), r.Info().MessageCount)
	require.Equal(t, messages[99].LogTimeNanos, r.Info().EndNanos)
	require.Equal(t, Topic("/b"), r.Info().Topics[1].Topic)
}

func (s suite) rejected(t *testing.T) {
	messages := Messages(10, 0)
	messages[3].Topic = 77
	w, path := s.create(t, Topic("/a"))
	var rejected *storage.RejectedError
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.Equal(t, []int{3}, rejected.Indexes)
	require.NoError(t, w.Seal(nil))
	s.equal(t, slices.Delete(messages, 3, 4), s.query(t, s.open(t, path), storage.Query{}))
}

func (s suite) topicTwice(t *testing.T) {
	w, _ := s.create(t, Topic("/a"), Topic("/b"))
	id, err := w.AddTopic(Topic("/a"))
	require.NoError(t, err)
	require.Equal(t, storage.TopicID(0), id)
	other := Topic("/a")
	other.Type = "std_msgs/msg/Int32"
	_, err = w.AddTopic(other)
	require.ErrorIs(t, err, storage.ErrTopicType)
}

func (s suite) existing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file"+s.format.Extension)
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err := s.format.Create(path, storage.CreateOptions{})
	require.ErrorIs(t, err, os.ErrExist)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}

func (s suite) finished(t *testing.T) {
	w, _ := s.create(t, Topic("/a"))
	require.NoError(t, w.Write(Messages(1, 0)))
	require.NoError(t, w.Seal(nil))
	require.ErrorIs(t, w.Write(Messages(1, 0)), storage.ErrSealed)
	require.ErrorIs(t, w.Flush(), storage.ErrSealed)
	_, err := w.AddTopic(Topic("/b"))
	require.ErrorIs(t, err, storage.ErrSealed)
	require.NoError(t, w.Close())
	require.Equal(t, uint64(1), w.Info().MessageCount)
}

func (s suite) metadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file"+s.format.Extension)
	w, err := s.format.Create(path, storage.CreateOptions{Metadata: []byte("version: 9\nfirst: 1")})
	require.NoError(t, err)
	require.Equal(t, "version: 9\nfirst: 1", string(s.open(t, path).Info().Metadata))
	require.NoError(t, w.Seal([]byte("version: 9\nlast: 1")))
	require.Equal(t, "version: 9\nlast: 1", string(s.open(t, path).Info().Metadata))
}

func (s suite) readOnly(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	require.NoError(t, w.Write(Messages(10, 0)))
	require.NoError(t, w.Seal(nil))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := s.format.Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	require.Len(t, s.query(t, r, storage.Query{}), 10)
	require.NoError(t, r.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func (s suite) foreign(t *testing.T) {
	directory := t.TempDir()
	for name, test := range map[string]struct {
		content string
		want    error
	}{
		"empty":   {"", storage.ErrEmpty},
		"foreign": {"this is a text and no bag file at all", storage.ErrUnknownFormat},
	} {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
		_, err := s.format.Open(path, storage.OpenOptions{})
		require.ErrorIs(t, err, test.want)
		_, err = storage.Formats{s.format}.Detect(path)
		require.ErrorIs(t, err, test.want)
	}
	_, err := s.format.Open(filepath.Join(directory, "missing"), storage.OpenOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}
