package bag

import (
	"container/heap"
	"errors"
	"io"
	"math"
	"slices"

	"rosbagd/storage"
)

const (
	// sortWindow is how many bytes of messages are held back while they come out of a decompressor, so that those that
	// stand out of order are given in order.
	sortWindow = 16 << 20
	// startWindow is how many bytes are looked through for the message with which the file begins by its metadata.
	startWindow = 48 << 20
	// definitionWindow is how many bytes of messages are looked through for a definition.
	definitionWindow = 16 << 20
)

// streamed says whether a compressed file can be read while it is unpacked, and begins to unpack it. It is nil for a
// file that is not compressed, is unpacked already, is so small that it soon will be, or whose format needs all of it.
func (r *Reader) streamed(f *file) (*unpacking, error) {
	if f.refused != nil || f.plain != "" || r.cache.options.StreamAbove == math.MaxInt64 {
		return nil, nil
	}
	if packed, err := isPacked(f.path); err != nil || !packed {
		return nil, err
	}
	file, err := storage.OpenFile(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	key, err := cacheKey(f.path, file)
	if err != nil {
		return nil, err
	}
	if found := r.cache.find(key); found != nil {
		return nil, found.lock.Close()
	}
	shape, err := measurePacked(f.path, file, estimateBlocks)
	if err != nil || shape.most < r.cache.options.StreamAbove {
		return nil, err
	}
	format, err := detectPacked(f.path)
	if err != nil || format.Stream == nil {
		return nil, err
	}
	job, err := r.cache.unpack(f.path, key, file)
	if err != nil || job.isDrained() {
		return nil, err
	}
	return job, nil
}

// streamFor gives the messages of a compressed file while it is unpacked, when the query can be had so: from the start
// of the file, by log time or as they stand in it. It is nil when the file has to be opened instead.
//
// By log time, messages are sorted within a window of 16 MiB, and the first one is not given before the one with which
// the file begins by metadata.yaml was met; if it is not met soon, the file is unpacked first. A message that comes
// later than the window lets it be given in order is given at once, with a note: nothing is left out.
func (r *Reader) streamFor(f *file, query storage.Query) (storage.Iterator, error) {
	r.mu.Lock()
	start, known := f.described.StartNanos, f.known
	r.mu.Unlock()
	if query.Order == storage.ByPublishTime || query.FromNanos > start || (!known && query.FromNanos > 0) {
		return nil, nil
	}
	job, err := r.streamed(f)
	if err != nil || job == nil {
		return nil, err
	}
	stream, err := job.format.Stream(f.path, job.reader())
	if err != nil {
		return nil, err
	}
	it := &streamIterator{reader: r, file: f, stream: stream, query: query, start: start, begun: !known}
	if query.Order == storage.ByFile {
		it.begun = true
	} else {
		it.limit = sortWindow
	}
	return it, nil
}

type streamIterator struct {
	reader *Reader
	file   *file
	stream storage.Stream
	query  storage.Query
	topics []storage.TopicID // by the stream's topic id
	wanted []bool

	limit  int64 // bytes to hold back
	window windowHeap
	bytes  int64 // in window
	seen   int64 // bytes until the start was met
	number int64
	start  int64
	begun  bool  // the message with the file's start was met
	last   int64 // log time given last
	late   bool
	ended  bool
	// opened takes the stream's place when the file must be unpacked first.
	opened storage.Iterator
}

// Next implements storage.Iterator.
func (it *streamIterator) Next() (storage.Message, error) {
	for it.opened == nil && !it.ended && (!it.begun || it.bytes < it.limit || len(it.window) == 0) {
		if !it.begun && it.seen >= startWindow {
			if err := it.unpackFirst(); err != nil {
				return storage.Message{}, err
			}
			break
		}
		if err := it.fill(); err != nil {
			return storage.Message{}, err
		}
	}
	if it.opened != nil {
		return it.nextOpened()
	}
	if len(it.window) == 0 {
		return storage.Message{}, io.EOF
	}
	m := heap.Pop(&it.window).(held).message
	it.bytes -= int64(len(m.Data))
	if m.LogTimeNanos < it.last && it.query.Order == storage.ByLogTime && !it.late {
		it.late = true
		it.reader.addNote("%s: messages stand so far out of order that some are given late while the file is unpacked; the next time they are in order",
			it.file.path)
	}
	it.last = max(it.last, m.LogTimeNanos)
	return m, nil
}

// fill takes one message from the stream.
func (it *streamIterator) fill() error {
	m, err := it.stream.Next()
	if errors.Is(err, io.EOF) {
		it.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	it.seen += int64(len(m.Data))
	if m.LogTimeNanos <= it.start {
		it.begun = true
	}
	if err := it.mapTopics(m.Topic); err != nil {
		return err
	}
	if !it.wanted[m.Topic] || m.LogTimeNanos < it.query.FromNanos || (it.query.HasUntil && m.LogTimeNanos > it.query.UntilNanos) {
		return nil
	}
	m.Topic = it.topics[m.Topic]
	it.number++
	key := m.LogTimeNanos
	if it.query.Order == storage.ByFile {
		key = it.number
	}
	it.bytes += int64(len(m.Data))
	heap.Push(&it.window, held{message: m, key: key, number: it.number})
	return nil
}

func (it *streamIterator) mapTopics(id storage.TopicID) error {
	if int(id) < len(it.topics) {
		return nil
	}
	r := it.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, topic := range it.stream.Topics()[len(it.topics):] {
		mapped := r.topicID(it.file.path, storage.TopicInfo{Topic: topic})
		it.topics = append(it.topics, mapped)
		it.wanted = append(it.wanted, it.query.Topics == nil || slices.Contains(it.query.Topics, mapped))
	}
	if int(id) >= len(it.topics) {
		return &storage.CorruptionError{Path: it.file.path, Offset: -1, Err: errors.New("message of a topic that is not described")}
	}
	return nil
}

// unpackFirst goes over to the file itself; nothing was given until then.
func (it *streamIterator) unpackFirst() error {
	err := it.stream.Close()
	it.ended, it.window, it.bytes = true, nil, 0
	if err != nil {
		return err
	}
	r := it.reader
	reader, err := r.acquire(it.file)
	if err != nil {
		return err
	}
	r.mu.Lock()
	it.topics = it.file.topics
	r.mu.Unlock()
	if it.opened, err = reader.Messages(fileQuery(it.query, it.topics)); err != nil {
		it.opened = nil
		return errors.Join(err, r.release(it.file))
	}
	return nil
}

func (it *streamIterator) nextOpened() (storage.Message, error) {
	m, err := it.opened.Next()
	if err == nil {
		m.Topic = it.topics[m.Topic]
	}
	return m, err
}

// Close implements storage.Iterator.
func (it *streamIterator) Close() error {
	it.window = nil
	if it.opened == nil {
		return it.stream.Close()
	}
	return errors.Join(it.opened.Close(), it.reader.release(it.file))
}

// definitionInStream looks for a definition in the first part of a compressed file that is being unpacked.
func (r *Reader) definitionInStream(f *file, id storage.TopicID) (storage.Definition, bool) {
	job, err := r.streamed(f)
	if err != nil || job == nil {
		return storage.Definition{}, false // the file is opened instead
	}
	stream, err := job.format.Stream(f.path, job.reader())
	if err != nil {
		return storage.Definition{}, false
	}
	defer stream.Close()
	wanted := r.topic(id)
	for bytes := 0; bytes < definitionWindow; {
		m, err := stream.Next()
		for _, topic := range stream.Topics() {
			if topic.Name == wanted.Name && topic.Type == wanted.Type {
				return topic.Definition, topic.Definition.Encoding != ""
			}
		}
		if err != nil {
			break
		}
		bytes += len(m.Data) + 1
	}
	return storage.Definition{}, false
}

type held struct {
	message storage.Message
	key     int64
	number  int64
}

// windowHeap implements heap.Interface.
type windowHeap []held

func (h windowHeap) Len() int { return len(h) }
func (h windowHeap) Less(a, b int) bool {
	if h[a].key != h[b].key {
		return h[a].key < h[b].key
	}
	return h[a].number < h[b].number
}
func (h windowHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *windowHeap) Push(x any)   { *h = append(*h, x.(held)) }

func (h *windowHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = held{}
	*h = old[:len(old)-1]
	return last
}
