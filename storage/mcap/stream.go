package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// Stream reads a file from its start to the end of its data section. It holds one chunk, and what was read ahead.
type Stream struct {
	feed     feed
	window   window // one record at a time, over feed
	contents *contents
	unpacker *Reader
	topics   []storage.Topic
	byKey    map[topicKey]storage.TopicID
	channels map[uint16]storage.TopicID

	records []byte // of the chunk at hand, that were not given yet
	inChunk int64  // where the chunk stands in the file
	unknown int    // messages of the chunk whose channel nobody described
	faults  []error

	done    bool
	chunked bool
	wasted  int64 // bytes of chunks that turned out to be none
}

// OpenStream begins to read an MCAP file from r. The name is for errors.
func OpenStream(name string, r io.Reader) (*Stream, error) {
	s := &Stream{
		contents: newContents(), unpacker: &Reader{source: source{path: name}},
		byKey: map[topicKey]storage.TopicID{}, channels: map[uint16]storage.TopicID{},
	}
	s.feed.from = r
	s.window = window{source: source{path: name, file: &s.feed, size: streamSize}, step: 1}
	head, err := s.feed.peek(int64(len(mcaplib.Magic)))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case len(head) == 0:
		return nil, fmt.Errorf("open %s: %w", name, storage.ErrEmpty)
	case !resembles(head):
		return nil, fmt.Errorf("open %s: %w", name, storage.ErrUnknownFormat)
	}
	return s, s.feed.discard(int64(len(mcaplib.Magic)))
}

// Topics implements storage.Stream.
func (s *Stream) Topics() []storage.Topic { return s.topics }

// Close implements storage.Stream. It does not close what the Stream reads from.
func (s *Stream) Close() error {
	s.done, s.records, s.faults = true, nil, nil
	return s.unpacker.Close()
}

// Next implements storage.Stream.
func (s *Stream) Next() (storage.Message, error) {
	for {
		if len(s.faults) > 0 {
			err := s.faults[0]
			s.faults = s.faults[1:]
			return storage.Message{}, err
		}
		if s.records != nil {
			if m, ok := s.fromChunk(); ok {
				return m, nil
			}
			continue
		}
		if s.done {
			return storage.Message{}, io.EOF
		}
		m, ok, err := s.record()
		if err != nil && storage.IsCorruption(err) {
			s.faults = append(s.faults, err)
			err = s.resume()
		}
		if err != nil {
			s.done = true
			return storage.Message{}, err
		}
		if ok {
			return m, nil
		}
	}
}

// errFound ends a walk at a message.
var errFound = errors.New("message found")

// fromChunk gives the next message of the chunk at hand.
func (s *Stream) fromChunk() (m storage.Message, ok bool) {
	at, err := walk(s.records, func(op mcaplib.OpCode, body []byte, at int) error {
		if op != mcaplib.OpMessage {
			return s.describe(op, body)
		}
		parsed := parseMessage(body)
		topic, known := s.channels[parsed.channel]
		if !known {
			s.unknown++
			return nil
		}
		m, s.records = message(topic, parsed), s.records[at+recordHeaderLen+len(body):]
		return errFound
	})
	if errors.Is(err, errFound) {
		return m, true
	}
	if err != nil {
		s.fault(s.inChunk, fmt.Errorf("at byte %d of what is left of the chunk: %w", at, err))
	}
	if s.unknown > 0 {
		s.fault(s.inChunk, fmt.Errorf("%d times %w", s.unknown, errNoChannel))
	}
	s.records, s.unknown = nil, 0
	return m, false
}

func message(topic storage.TopicID, m messageAt) storage.Message {
	return storage.Message{
		Topic: topic, Sequence: m.sequence, LogTimeNanos: m.log, PublishTimeNanos: m.pub, Data: m.data,
	}
}

func (s *Stream) fault(offset int64, err error) {
	s.faults = append(s.faults, s.window.corrupt(offset, err))
}

// record reads the next record of the file. Damage is returned before the record is passed over, or after it, when its
// length can be trusted.
func (s *Stream) record() (m storage.Message, ok bool, err error) {
	at := s.feed.offset
	rest, err := s.feed.peek(recordHeaderLen)
	if err != nil {
		return m, false, fmt.Errorf("read %s: %w", s.window.path, err)
	}
	if len(rest) < recordHeaderLen {
		s.done = true
		s.fault(at, storage.ErrEndsEarly)
		return m, false, s.feed.discard(recordHeaderLen)
	}
	rec, err := s.window.record(at, streamSize)
	if err != nil {
		return m, false, err
	}
	if s.buffered(rec.op) {
		whole, err := s.feed.peek(recordHeaderLen + rec.length)
		if err != nil {
			return m, false, fmt.Errorf("read %s: %w", s.window.path, err)
		}
		if int64(len(whole)) < recordHeaderLen+rec.length {
			return m, false, s.window.corrupt(at, storage.ErrEndsEarly)
		}
	}
	if rec.op < firstUnknownOp && !plausible(&s.window, rec) {
		return m, false, s.window.corrupt(at, errNoRecord)
	}
	if rec.op >= firstUnknownOp || rec.op == mcaplib.OpMessage {
		like, err := likeChunk(&s.window, rec)
		if err != nil {
			return m, false, err
		}
		if like { // its length is right: else it would not look like one
			s.fault(at, errNoRecord)
			return m, false, s.feed.discard(rec.end() - at)
		}
	}
	m, ok, err = s.take(rec)
	if err != nil {
		return m, false, err
	}
	return m, ok, s.feed.discard(rec.end() - at)
}

// buffered tells of which records the whole content is looked at.
func (s *Stream) buffered(op mcaplib.OpCode) bool {
	switch op {
	case mcaplib.OpHeader, mcaplib.OpSchema, mcaplib.OpChannel, mcaplib.OpMessage, mcaplib.OpChunk, mcaplib.OpMetadata:
		return true
	}
	return false
}

func (s *Stream) take(rec record) (m storage.Message, ok bool, err error) {
	switch rec.op {
	case mcaplib.OpDataEnd, mcaplib.OpFooter:
		s.done = true
	case mcaplib.OpSchema, mcaplib.OpChannel:
		body, err := s.window.body(rec)
		if err != nil {
			return m, false, err
		}
		if err := s.describe(rec.op, body); err != nil {
			return m, false, s.window.corrupt(rec.offset, err)
		}
	case mcaplib.OpMessage:
		raw, err := s.feed.peek(recordHeaderLen + rec.length)
		if err != nil {
			return m, false, err
		}
		parsed := parseMessage(bytes.Clone(raw[recordHeaderLen:]))
		topic, known := s.channels[parsed.channel]
		if !known {
			s.fault(rec.offset, errNoChannel)
			return m, false, nil
		}
		return message(topic, parsed), true, nil
	case mcaplib.OpChunk:
		s.chunked = true
		records, err := s.chunk(rec)
		if storage.IsCorruption(err) {
			s.faults = append(s.faults, err) // its lengths agree, so the next record is behind it
			return m, false, nil
		}
		s.records, s.inChunk = records, rec.offset
		return m, false, err
	}
	return m, false, nil
}

// chunk unpacks a chunk into memory of its own.
func (s *Stream) chunk(rec record) ([]byte, error) {
	raw, err := s.feed.peek(recordHeaderLen + rec.length)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.window.path, err)
	}
	if int64(len(raw)) < recordHeaderLen+rec.length {
		return nil, s.window.corrupt(rec.offset, storage.ErrEndsEarly)
	}
	records, err := s.unpacker.chunkRecords(raw, rec.offset)
	if err != nil {
		return nil, err
	}
	if head, err := parseChunkHead(raw[recordHeaderLen:]); err == nil && head.compression == CompressionNone {
		records = bytes.Clone(records)
	}
	return records, nil
}

func (s *Stream) describe(op mcaplib.OpCode, body []byte) error {
	known := len(s.contents.order)
	if err := s.contents.describe(op, body); err != nil {
		return err
	}
	for _, id := range s.contents.order[known:] {
		topic := s.contents.topic(s.contents.channels[id])
		key := topicKey{topic.Name, topic.Type, topic.SerializationFormat}
		at, ok := s.byKey[key]
		if !ok {
			at = storage.TopicID(len(s.topics))
			s.byKey[key] = at
			s.topics = append(s.topics, topic)
		}
		s.channels[id] = at
	}
	return nil
}

// largestFound bounds a chunk that is looked for behind damage; one that follows another record may be larger.
const largestFound = 64 << 20

// resume looks for the next place where the stream can be read again: a chunk whose content is good, a schema, a
// channel, or messages in a row in a file without chunks. Files within payloads are passed over (see search).
func (s *Stream) resume() error {
	if head, err := s.feed.peek(1); err == nil && len(head) == 1 && mcaplib.OpCode(head[0]) == mcaplib.OpChunk {
		s.chunked = true // what is left of a chunk has no checksum
	}
	if err := s.feed.discard(1); err != nil {
		return err
	}
	for s.wasted <= searchBudget(s.feed.offset) {
		piece, err := s.feed.peek(feedStep)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.window.path, err)
		}
		i := candidate(piece, streamSize)
		if i < 0 {
			if s.feed.ended {
				break
			}
			i = max(1, len(piece)-recordHeaderLen+1)
			if err := s.feed.discard(int64(i)); err != nil {
				return err
			}
			continue
		}
		magic := piece[i] == mcaplib.Magic[0]
		if err := s.feed.discard(int64(i)); err != nil {
			return err
		}
		if magic {
			if err := s.passInner(); err != nil {
				return err
			}
			continue
		}
		if found, err := s.goesOn(); err != nil || found {
			return err
		}
		if err := s.feed.discard(1); err != nil {
			return err
		}
	}
	s.done = true
	return nil
}

// passInner passes over a file within a payload, as far as its records follow each other.
func (s *Stream) passInner() error {
	if err := s.feed.discard(int64(len(mcaplib.Magic))); err != nil {
		return err
	}
	for {
		rec, err := s.window.record(s.feed.offset, streamSize)
		if err != nil || rec.length > largestFound || (rec.op < firstUnknownOp && !plausible(&s.window, rec)) {
			return passCorruption(err)
		}
		if err := s.feed.discard(rec.end() - rec.offset); err != nil {
			return err
		}
		if rec.op == mcaplib.OpFooter {
			return s.feed.discard(int64(len(mcaplib.Magic)))
		}
	}
}

// goesOn tells whether the records go on where the feed is.
func (s *Stream) goesOn() (bool, error) {
	at := s.feed.offset
	for range chainMessages {
		rec, err := s.window.record(at, streamSize)
		if err != nil {
			return false, passCorruption(err)
		}
		if rec.op >= firstUnknownOp || rec.length > largestFound {
			return false, nil
		}
		// All of it is here before anything in it is believed.
		whole, err := s.feed.peek(rec.end() - s.feed.offset)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", s.window.path, err)
		}
		if int64(len(whole)) < rec.end()-s.feed.offset || !plausible(&s.window, rec) {
			s.wasted += recordHeaderLen
			return false, nil
		}
		switch rec.op {
		case mcaplib.OpSchema, mcaplib.OpChannel:
			return at == s.feed.offset, nil
		case mcaplib.OpChunk:
			if at != s.feed.offset {
				return false, nil
			}
			records, err := s.chunk(rec)
			if err != nil {
				s.wasted += rec.length
			}
			return err == nil && len(records) > 0, passCorruption(err)
		case mcaplib.OpMessage:
			if s.chunked {
				return false, nil
			}
		default:
			return false, nil
		}
		at = rec.end()
	}
	return true, nil
}
