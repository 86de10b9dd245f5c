package mcap

import (
	"errors"
	"fmt"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// bareSpan is how many bytes of messages without a chunk are read at once.
const bareSpan = 1 << 20

// scan finds out what a file holds by going through its data section from the start: headers of chunks and message
// indexes only, as long as these tell enough.
type scan struct {
	window
	*contents
	reader   *Reader           // loads chunks that have to be unpacked
	open     bool              // the last element of chunks is still being described
	indexed  map[uint16]uint64 // messages of the open chunk by its message indexes
	finished bool              // the end of the data section was seen
}

// scanFile always gives contents; damage tells what is missing. Only an error of reading itself is returned.
func scanFile(r *Reader) (*contents, error) {
	s := scan{window: window{source: r.source}, contents: newContents(), reader: r, indexed: map[uint16]uint64{}}
	s.located = true
	at := int64(len(mcaplib.Magic))
	var stopped error
	for at < s.size && !s.finished {
		rec, err := s.record(at, s.size)
		if err == nil {
			err = s.take(rec)
		}
		if err != nil {
			stopped = err
			break
		}
		at = rec.end()
	}
	s.settle(stopped != nil || !s.finished)
	if stopped != nil && !isCorruption(stopped) {
		return nil, stopped
	}
	if !s.finished {
		s.damage = fmt.Sprintf("unfinished, %d messages in its complete part", s.total.messages)
		if at < s.size {
			s.damage += fmt.Sprintf("; the last %d bytes are of no use", s.size-at)
		}
	}
	return s.contents, nil
}

func (s *scan) take(rec record) error {
	if rec.op != mcaplib.OpMessageIndex && (rec.op != mcaplib.OpMessage || !s.bareOpen()) {
		s.settle(false)
	}
	switch rec.op {
	case mcaplib.OpMessage:
		return s.takeMessage(rec)
	case mcaplib.OpChunk:
		return s.takeChunk(rec)
	case mcaplib.OpMessageIndex:
		return s.takeIndex(rec)
	case mcaplib.OpDataEnd, mcaplib.OpFooter:
		s.finished = true
	case mcaplib.OpSchema, mcaplib.OpChannel, mcaplib.OpMetadata:
		body, err := s.body(rec)
		if err != nil {
			return err
		}
		if rec.op == mcaplib.OpMetadata {
			err = s.takeMetadata(body)
		} else {
			err = s.describe(rec.op, body)
		}
		if err != nil {
			return s.corrupt(rec.offset, err)
		}
	}
	return nil
}

func (s *scan) bareOpen() bool { return s.open && s.chunks[len(s.chunks)-1].bare }

// takeMessage adds a message without a chunk to the open bare one.
func (s *scan) takeMessage(rec record) error {
	if rec.length < messageHeaderLen {
		return s.corrupt(rec.offset, errNoRecord)
	}
	head, err := s.bytes(rec.body(), messageHeaderLen)
	if err != nil {
		return err
	}
	m := parseMessage(head)
	if s.bareOpen() && s.chunks[len(s.chunks)-1].length >= bareSpan {
		s.settle(false)
	}
	if !s.open {
		s.chunks = append(s.chunks, chunkRef{offset: rec.offset, start: m.log, end: m.log, bare: true})
		s.open = true
	}
	ref := &s.chunks[len(s.chunks)-1]
	ref.length = rec.end() - ref.offset
	ref.start, ref.end = min(ref.start, m.log), max(ref.end, m.log)
	s.indexed[m.channel]++
	return nil
}

func (s *scan) takeChunk(rec record) error {
	head, err := s.bytes(rec.body(), min(rec.length, chunkFixedLen+64))
	if err != nil {
		return err
	}
	fields, err := parseChunkHead(head)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	if fields.recordsLen != uint64(rec.length-fields.headLen) {
		return s.corrupt(rec.offset, errChunkSize)
	}
	s.chunks = append(s.chunks, chunkRef{
		offset: rec.offset, length: rec.end() - rec.offset, start: fields.start, end: fields.end,
	})
	s.open = true
	return nil
}

func (s *scan) takeIndex(rec record) error {
	if !s.open || s.bareOpen() || rec.length < 6 {
		return nil
	}
	head, err := s.bytes(rec.body(), 6)
	if err != nil {
		return err
	}
	c := cursor{rest: head}
	channel, length := c.uint16(), c.uint32()
	if int64(length) > rec.length-6 {
		return s.corrupt(rec.offset, errNoRecord)
	}
	s.indexed[channel] += uint64(length) / 16
	ref := &s.chunks[len(s.chunks)-1]
	ref.indexLen = rec.end() - ref.offset - ref.length
	return nil
}

// settle finishes the open chunk. When its indexes are missing, may be cut off or name channels that nobody described
// yet, the chunk itself is read.
func (s *scan) settle(doubtful bool) {
	if !s.open {
		return
	}
	s.open = false
	ref := &s.chunks[len(s.chunks)-1]
	for channel := range s.indexed {
		if _, ok := s.channels[channel]; !ok {
			doubtful = true
		}
	}
	if !ref.bare && (doubtful || len(s.indexed) == 0 || ref.end < ref.start) {
		s.unpack(ref)
	}
	var messages uint64
	for channel, n := range s.indexed {
		if _, ok := s.channels[channel]; ok {
			s.counts[channel] += n
			messages += n
		}
	}
	s.total.add(messages, ref.start, ref.end)
	clear(s.indexed)
}

// unpack counts the messages of a chunk by reading it. A damaged chunk stays in the list, without a count, so that
// reading the messages reports it.
func (s *scan) unpack(ref *chunkRef) {
	clear(s.indexed)
	ref.indexLen = 0
	records, err := s.reader.load(*ref)
	if err != nil {
		ref.start, ref.end = min(ref.start, ref.end), max(ref.start, ref.end)
		return
	}
	first := true
	_, _ = walk(records, func(op mcaplib.OpCode, body []byte, _ int) error {
		if op != mcaplib.OpMessage {
			return s.describe(op, body)
		}
		m := parseMessage(body)
		s.indexed[m.channel]++
		if first {
			ref.start, ref.end = m.log, m.log
			first = false
		}
		ref.start, ref.end = min(ref.start, m.log), max(ref.end, m.log)
		return nil
	})
}

func isCorruption(err error) bool {
	var corruption *storage.CorruptionError
	return errors.As(err, &corruption)
}
