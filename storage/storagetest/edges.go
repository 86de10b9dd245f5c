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
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/storage"
)

// equalTimes keeps the order of the file where nothing else tells one message from another, over many batches.
func (s suite) equalTimes(t *testing.T) {
	w, path := s.create(t, Topic("/a"), Topic("/b"))
	messages := Messages(2000, 0, 1)
	for i := range messages {
		messages[i].LogTimeNanos, messages[i].PublishTimeNanos = 42, 42
	}
	for batch := range slices.Chunk(messages, 130) {
		require.NoError(t, w.Write(batch))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	for _, order := range []storage.Order{storage.ByLogTime, storage.ByPublishTime, storage.ByFile} {
		s.equal(t, messages, s.query(t, r, storage.Query{Order: order}))
	}
	at := storage.Query{FromNanos: 42, UntilNanos: 42, HasUntil: true}
	s.equal(t, messages, s.query(t, r, at))
	at = storage.Query{FromNanos: 43}
	require.Empty(t, s.query(t, r, at))
}

// reverse writes the newest message first.
func (s suite) reverse(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	messages := Messages(1500, 0)
	slices.Reverse(messages)
	for batch := range slices.Chunk(messages, 100) {
		require.NoError(t, w.Write(batch))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	s.equal(t, messages, s.query(t, r, storage.Query{Order: storage.ByFile}))
	slices.Reverse(messages)
	s.equal(t, messages, s.query(t, r, storage.Query{}))
	require.Equal(t, messages[0].LogTimeNanos, r.Info().StartNanos)
	require.Equal(t, messages[1499].LogTimeNanos, r.Info().EndNanos)
}

// sizes are those around which formats change how they store a payload, and some large ones.
func (s suite) sizes(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	sizes := []int{0, 1, 2, 3, 127, 128, 4000, 4096, 65_535, 65_536, 1 << 20, 3 << 20, 0, 5}
	for size := 430; size < 470; size++ {
		sizes = append(sizes, size)
	}
	for size := 4040; size < 4080; size++ {
		sizes = append(sizes, size, size+4092)
	}
	messages := Messages(len(sizes), 0)
	var payload uint64
	for i, size := range sizes {
		messages[i].Data = bytes.Repeat([]byte{byte(i), 1, 2}, size/3+1)[:size]
		payload += uint64(size)
	}
	require.NoError(t, w.Write(messages))
	require.Equal(t, payload, w.Info().Topics[0].PayloadBytes)
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	got := s.query(t, r, storage.Query{})
	require.Len(t, got, len(messages))
	for i := range got {
		require.True(t, bytes.Equal(messages[i].Data, got[i].Data), "payload of %d bytes", sizes[i])
	}
	if told := r.Info().Topics[0].PayloadBytes; told != 0 {
		require.Equal(t, payload, told)
	}
}

// sparseTopics has a thousand topics, half of them without a message, and some given again with other offers.
func (s suite) sparseTopics(t *testing.T) {
	const n = 1000
	w, path := s.create(t)
	name := func(i int) string { return fmt.Sprintf("/topic_%d", i) }
	for i := range n {
		id, err := w.AddTopic(Topic(name(i)))
		require.NoError(t, err)
		require.Equal(t, storage.TopicID(i), id)
		if i%2 == 0 {
			continue
		}
		require.NoError(t, w.Write(Messages(2, id)))
		again := Topic(name(i))
		again.OfferedQoS = nil
		id, err = w.AddTopic(again)
		require.NoError(t, err)
		require.Equal(t, storage.TopicID(i), id)
	}
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	topics := r.Info().Topics
	require.Len(t, topics, n)
	for i, topic := range topics {
		require.Equal(t, Topic(name(i)), topic.Topic)
		require.Equal(t, uint64(i%2*2), topic.MessageCount)
	}
	require.Len(t, s.query(t, r, storage.Query{Topics: []storage.TopicID{1, 2, 999}}), 4)
	require.Len(t, s.query(t, r, storage.Query{}), n)
}

// presets are all words that a format takes; each makes a file that is read without knowing of it.
func (s suite) presets(t *testing.T) {
	require.NotEmpty(t, s.format.Presets)
	for _, preset := range append([]string{""}, s.format.Presets...) {
		for _, config := range []storage.Config{{}, {Path: "config.yaml", Data: []byte(s.traits.Config)}} {
			if config.Path != "" && s.traits.Config == "" {
				continue
			}
			path := filepath.Join(t.TempDir(), "file"+s.format.Extension)
			w, err := s.format.Create(path, storage.CreateOptions{Preset: preset, Config: config, ROSDistro: "jazzy"})
			require.NoError(t, err)
			_, err = w.AddTopic(Topic("/a"))
			require.NoError(t, err)
			messages := Messages(100, 0)
			require.NoError(t, w.Write(messages))
			require.NoError(t, w.Seal(nil))
			r, err := s.format.Open(path, storage.OpenOptions{Config: config})
			require.NoError(t, err)
			s.equal(t, messages, s.query(t, r, storage.Query{}))
			require.Empty(t, r.Info().Damage)
			require.NoError(t, r.Close())
		}
	}
	path := filepath.Join(t.TempDir(), "file"+s.format.Extension)
	_, err := s.format.Create(path, storage.CreateOptions{Preset: "no such preset"})
	require.ErrorContains(t, err, "no such preset")
	_, err = s.format.Create(path, storage.CreateOptions{Config: storage.Config{Path: "config.yaml", Data: []byte("a: [")}})
	require.ErrorContains(t, err, "config.yaml")
	require.NotContains(t, err.Error(), "\n")
	require.NoFileExists(t, path)
}

// closed gives a file up as a process does that is killed: what was flushed is there.
func (s suite) closed(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	messages := Messages(200, 0)
	require.NoError(t, w.Write(messages[:150]))
	require.NoError(t, w.Flush())
	require.NoError(t, w.Write(messages[150:]))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(messages), storage.ErrSealed)
	r := s.open(t, path)
	got := s.query(t, r, storage.Query{})
	require.GreaterOrEqual(t, len(got), 150)
	s.equal(t, messages[:len(got)], got)
	require.Equal(t, uint64(len(got)), r.Info().MessageCount)
}

// live reads a file again and again while it grows. What comes later is not a part of what was opened.
func (s suite) live(t *testing.T) {
	w, path := s.create(t, Topic("/a"), Topic("/b"))
	messages := Messages(500, 0, 1)
	var opened []storage.Reader
	for i := 50; i <= len(messages); i += 50 {
		require.NoError(t, w.Write(messages[i-50:i]))
		require.NoError(t, w.Flush())
		before, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		r := s.open(t, path)
		opened = append(opened, r)
		info := r.Info()
		require.Equal(t, uint64(i), info.MessageCount)
		require.Equal(t, uint64(i/2), info.Topics[1].MessageCount)
		require.Equal(t, messages[i-1].LogTimeNanos, info.EndNanos)
		after, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Equal(t, len(before), len(after))
	}
	for i, r := range opened {
		s.equal(t, messages[:50*(i+1)], s.query(t, r, storage.Query{}))
	}
	require.NoError(t, w.Seal(nil))
	for i, r := range opened {
		s.equal(t, messages[:50*(i+1)], s.query(t, r, storage.Query{}))
	}
}

// concurrent calls what may be called from other goroutines while one writes; the race detector looks on.
func (s suite) concurrent(t *testing.T) {
	w, path := s.create(t, Topic("/a"))
	messages := Messages(4000, 0)
	stop := make(chan struct{})
	var group sync.WaitGroup
	failures := make(chan error, 3)
	for _, call := range []func() error{
		w.Flush, w.Sync,
		func() error {
			if w.Size() <= 0 || w.Info().StorageID != s.format.ID {
				return errors.New("a writer without size or id")
			}
			return nil
		},
	} {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := call(); err != nil {
						failures <- err
						return
					}
				}
			}
		})
	}
	for batch := range slices.Chunk(messages, 20) {
		require.NoError(t, w.Write(batch))
	}
	close(stop)
	group.Wait()
	require.Empty(t, failures)
	require.NoError(t, w.Seal(nil))
	r := s.open(t, path)
	results := make([][]storage.Message, 3)
	for i := range results { // readers, too, may have several iterators at work
		group.Go(func() {
			it, err := r.Messages(storage.Query{})
			if err != nil {
				return
			}
			for {
				m, err := it.Next()
				if err != nil {
					_ = it.Close()
					return
				}
				results[i] = append(results[i], m)
			}
		})
	}
	group.Wait()
	for _, result := range results {
		s.equal(t, messages, result)
	}
}

// seek compares queries with what they mean.
func (s suite) seek(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		file, err := os.CreateTemp(directory, "*"+s.format.Extension)
		require.NoError(rt, err)
		path := file.Name()
		require.NoError(rt, file.Close())
		require.NoError(rt, os.Remove(path))
		w, err := s.format.Create(path, storage.CreateOptions{})
		require.NoError(rt, err)
		topics := rapid.IntRange(1, 4).Draw(rt, "topics")
		for i := range topics {
			_, err := w.AddTopic(Topic(fmt.Sprintf("/t%d", i)))
			require.NoError(rt, err)
		}
		var messages []storage.Message
		for range rapid.IntRange(0, 8).Draw(rt, "batches") {
			n := rapid.IntRange(0, 40).Draw(rt, "messages")
			batch := make([]storage.Message, n)
			for i := range batch {
				batch[i] = storage.Message{
					Topic:        storage.TopicID(rapid.IntRange(0, topics-1).Draw(rt, "topic")),
					LogTimeNanos: rapid.Int64Range(1, 50).Draw(rt, "log time"), PublishTimeNanos: rapid.Int64Range(1, 50).Draw(rt, "publish time"),
					Data: fmt.Appendf(nil, "%d", len(messages)+i),
				}
				if s.traits.NoPublishTime {
					batch[i].PublishTimeNanos = batch[i].LogTimeNanos
				}
			}
			require.NoError(rt, w.Write(batch))
			if rapid.Bool().Draw(rt, "flush") {
				require.NoError(rt, w.Flush())
			}
			messages = append(messages, batch...)
		}
		require.NoError(rt, w.Seal(nil))
		r, err := s.format.Open(path, storage.OpenOptions{})
		require.NoError(rt, err)
		for range 5 {
			q := storage.Query{
				FromNanos: rapid.Int64Range(0, 52).Draw(rt, "from"), UntilNanos: rapid.Int64Range(0, 52).Draw(rt, "until"),
				HasUntil: rapid.Bool().Draw(rt, "has until"),
				Order:    rapid.SampledFrom([]storage.Order{storage.ByLogTime, storage.ByPublishTime, storage.ByFile}).Draw(rt, "order"),
			}
			if rapid.Bool().Draw(rt, "some topics") {
				q.Topics = []storage.TopicID{}
				for i := range topics {
					if rapid.Bool().Draw(rt, "wanted") {
						q.Topics = append(q.Topics, storage.TopicID(i))
					}
				}
			}
			got, err := read(r, q)
			require.NoError(rt, err)
			for i := range got {
				got[i].Sequence = 0
			}
			want := model(messages, q)
			if len(want) != len(got) || len(want) > 0 && !slices.EqualFunc(want, got, same) {
				rt.Fatalf("query %+v: want %d messages, got %d or others", q, len(want), len(got))
			}
		}
		require.NoError(rt, r.Close())
		require.NoError(rt, os.Remove(path))
	})
}

func same(a, b storage.Message) bool {
	return a.Topic == b.Topic && a.LogTimeNanos == b.LogTimeNanos && a.PublishTimeNanos == b.PublishTimeNanos &&
		bytes.Equal(a.Data, b.Data)
}

// model is what a Query means.
func model(messages []storage.Message, q storage.Query) []storage.Message {
	var result []storage.Message
	for _, m := range messages {
		if m.LogTimeNanos >= q.FromNanos && (!q.HasUntil || m.LogTimeNanos <= q.UntilNanos) &&
			(q.Topics == nil || slices.Contains(q.Topics, m.Topic)) {
			result = append(result, m)
		}
	}
	switch q.Order {
	case storage.ByLogTime:
		slices.SortStableFunc(result, func(a, b storage.Message) int { return cmp.Compare(a.LogTimeNanos, b.LogTimeNanos) })
	case storage.ByPublishTime:
		slices.SortStableFunc(result, func(a, b storage.Message) int { return cmp.Compare(a.PublishTimeNanos, b.PublishTimeNanos) })
	}
	return result
}

func read(r storage.Reader, q storage.Query) ([]storage.Message, error) {
	it, err := r.Messages(q)
	if err != nil {
		return nil, err
	}
	var messages []storage.Message
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return messages, it.Close()
		}
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		messages = append(messages, m)
	}
}

// outlive holds messages until long after their reader is gone.
func (s suite) outlive(t *testing.T) {
	messages := Messages(3000, 0)
	for i := range messages {
		messages[i].Data = bytes.Repeat(messages[i].Data, 1+i%90)
	}
	w, path := s.create(t, Topic("/a"))
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	r, err := s.format.Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	first := s.query(t, r, storage.Query{})
	second := s.query(t, r, storage.Query{})
	require.NoError(t, r.Close())
	require.NoError(t, os.Truncate(path, 0))
	s.equal(t, messages, first)
	s.equal(t, messages, second)
}
