package mcap

import (
	"cmp"
	"maps"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

const (
	// bareSpan is how many bytes of messages without a chunk are read at once.
	bareSpan = 1 << 20
	// doubtfulBytes is how much of the end of an unfinished file is read as a whole: what was written last before a loss
	// of power may lack pages in its middle.
	doubtfulBytes = 256 << 20
	// scanStep is how much is read at the head of each chunk.
	scanStep = 16 << 10
	// extension is how many bytes that are not known a record may have at its end. The specification allows more, but a
	// damaged length looks the same.
	extension = 64
)

// scan finds out what a file holds by going through it from the start: headers of chunks and message indexes only, as
// long as these tell enough. Where the records do not follow each other it looks for the next one that does.
type scan struct {
	window
	*contents
	reader   *Reader // loads chunks that have to be unpacked
	deepFrom int64   // chunks from here on are unpacked and checked

	open    *chunkRef         // the chunk that is being described
	loaded  bool              // open was unpacked
	counted map[uint16]uint64 // messages of the open chunk
	indexed map[uint16]uint64 // the same, by its message indexes
	odd     bool              // a record of an unknown kind stands between the open chunk and its indexes

	ended      bool // the end of the data section was seen
	finished   bool // so was the footer
	statistics *mcaplib.Statistics
	chunked    bool // the file has chunks
	// unproven says that the records from the last damage on may be the rest of a chunk: nothing with a checksum has come
	// since. Messages among them are believed in a file without chunks only.
	unproven bool
	guessed  bool // messages were believed so
	search   search
	lost     lost
	failed   error // of reading, met while a chunk was settled
}

// scanFile always gives contents; damage tells what is missing. Only an error of reading itself is returned. Chunks from
// deepFrom on are read as a whole; all are when anything is wrong before the end of the file.
func scanFile(r *Reader, deepFrom int64) (*contents, error) {
	chunked := false
	for {
		s := scan{
			window: window{source: r.source, step: scanStep}, contents: newContents(), reader: r, deepFrom: deepFrom,
			counted: map[uint16]uint64{}, indexed: map[uint16]uint64{}, search: newSearch(r.source), chunked: chunked,
		}
		if err := cmp.Or(s.run(), s.failed); err != nil {
			return nil, err
		}
		if s.guessed && s.chunked {
			chunked = true // which was seen too late
			continue
		}
		if s.lost.inside() && deepFrom > 0 {
			deepFrom = 0
			continue
		}
		s.finish()
		return s.contents, nil
	}
}

func (s *scan) run() error {
	at := int64(len(mcaplib.Magic))
	if s.size < at {
		s.lost.tail = s.size
		return nil
	}
	for at < s.size {
		if s.finished && s.size-at == int64(len(mcaplib.Magic)) {
			break
		}
		rec, err := s.record(at, s.size)
		if err == nil {
			err = s.take(rec)
		}
		if err == nil {
			at = rec.end()
			continue
		}
		if !storage.IsCorruption(err) {
			return err
		}
		s.settle(true)
		// What is left of a chunk has no checksum, so its messages are not taken for ones outside of chunks.
		if head, err := s.bytes(at, 1); err == nil && mcaplib.OpCode(head[0]) == mcaplib.OpChunk {
			s.chunked = true
		}
		next, err := s.find(at + 1)
		if err != nil {
			return err
		}
		if next >= s.size {
			s.lost.tail = s.size - at
			break
		}
		s.lost.hole(next - at)
		at = next
	}
	s.settle(!s.ended)
	return nil
}

func (s *scan) take(rec record) error {
	if err := s.prove(rec); err != nil {
		return err
	}
	if rec.op >= firstUnknownOp || rec.op == mcaplib.OpMessage {
		// One bit makes a chunk to something else, and its length stays right.
		if like, err := likeChunk(&s.window, rec); err != nil {
			return err
		} else if like {
			s.settle(true)
			s.lost.chunk(rec.end() - rec.offset)
			return nil
		}
	}
	if rec.op >= firstUnknownOp {
		s.odd = s.odd || (s.open != nil && !s.open.bare)
		return nil
	}
	if !s.plausible(rec) {
		return s.corrupt(rec.offset, errNoRecord)
	}
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
	case mcaplib.OpAttachment:
		s.extras = append(s.extras, extraRef{op: rec.op, offset: rec.offset})
	case mcaplib.OpHeader:
		return s.takeHeader(rec)
	case mcaplib.OpDataEnd, mcaplib.OpFooter:
		s.ended = true
		s.finished = s.finished || rec.op == mcaplib.OpFooter
	case mcaplib.OpSchema, mcaplib.OpChannel, mcaplib.OpMetadata, mcaplib.OpStatistics:
		body, err := s.body(rec)
		if err != nil {
			return err
		}
		if err := s.takeDescription(rec, body); err != nil {
			return s.corrupt(rec.offset, err)
		}
	}
	return nil
}

// prove refuses a message that may be of a chunk whose head is lost.
func (s *scan) prove(rec record) error {
	if !s.unproven {
		return nil
	}
	switch rec.op {
	case mcaplib.OpMessage:
		if s.chunked {
			return s.corrupt(rec.offset, errNoRecord)
		}
		s.guessed = true
	case mcaplib.OpChunk, mcaplib.OpMessageIndex, mcaplib.OpAttachment, mcaplib.OpDataEnd, mcaplib.OpFooter:
		s.unproven = false
	}
	return nil
}

// takeHeader: a file of ours says whether its messages stand in chunks. Where the head of its first chunk was lost with a
// page, the rest of that chunk would pass for messages outside of chunks, with nothing to tell whether they are whole.
func (s *scan) takeHeader(rec record) error {
	body, err := s.body(rec)
	if err != nil {
		return err
	}
	header, err := mcaplib.ParseHeader(body)
	if err == nil && header.Library == libraryName {
		s.chunked = true
	}
	return nil
}

func (s *scan) takeDescription(rec record, body []byte) error {
	switch rec.op {
	case mcaplib.OpMetadata:
		s.extras = append(s.extras, extraRef{op: rec.op, offset: rec.offset})
		return s.takeMetadata(body)
	case mcaplib.OpStatistics:
		statistics, err := mcaplib.ParseStatistics(body)
		if err == nil {
			s.statistics = statistics
			s.chunked = s.chunked || statistics.ChunkCount > 0
		}
		return err
	default:
		return s.describe(rec.op, body)
	}
}

func (s *scan) bareOpen() bool { return s.open != nil && s.open.bare }

// takeMessage adds a message without a chunk to the open bare one.
func (s *scan) takeMessage(rec record) error {
	head, err := s.bytes(rec.body(), messageHeaderLen)
	if err != nil {
		return err
	}
	m := parseMessage(head)
	if s.bareOpen() && s.open.length >= bareSpan {
		s.settle(false)
	}
	if s.open == nil {
		s.open = &chunkRef{offset: rec.offset, start: m.log, end: m.log, bare: true, told: true}
	}
	s.open.length = rec.end() - s.open.offset
	s.open.start, s.open.end = min(s.open.start, m.log), max(s.open.end, m.log)
	s.counted[m.channel]++
	return nil
}

func (s *scan) takeChunk(rec record) error {
	fields, ok, err := s.chunkHead(rec)
	if err != nil {
		return err
	}
	if !ok {
		return s.corrupt(rec.offset, errChunkSize)
	}
	s.chunked = true
	s.open = &chunkRef{
		offset: rec.offset, length: rec.end() - rec.offset,
		start: min(fields.start, fields.end), end: max(fields.start, fields.end),
	}
	if rec.offset < s.deepFrom {
		return nil
	}
	if err := s.unpack(); err != nil {
		s.drop()
		s.lost.chunk(rec.end() - rec.offset)
		// Both of its lengths agree, so the next record is behind it; if not, it is looked for from there.
		return passCorruption(err)
	}
	return nil
}

// takeIndex counts the messages of the open chunk. An index without a chunk is of no use: its chunk was damaged.
func (s *scan) takeIndex(rec record) error {
	s.chunked = true
	if s.open == nil || s.bareOpen() {
		return nil
	}
	head, err := s.bytes(rec.body(), 6)
	if err != nil {
		return err
	}
	c := cursor{rest: head}
	channel, length := c.uint16(), c.uint32()
	s.indexed[channel] += uint64(length) / indexEntryLen
	s.open.indexLen = rec.end() - s.open.offset - s.open.length
	return nil
}

// settle finishes the open chunk. When its indexes are missing, may be cut off or name channels that nobody described
// yet, the chunk itself is read.
func (s *scan) settle(doubtful bool) {
	if s.open == nil {
		return
	}
	ref := s.open
	doubtful = doubtful || s.odd || len(s.indexed) == 0
	for channel := range s.indexed {
		_, ok := s.channels[channel]
		doubtful = doubtful || !ok
	}
	if !ref.bare && !s.loaded && doubtful {
		if err := s.unpack(); err != nil {
			if !storage.IsCorruption(err) {
				s.failed = err
			}
			s.lost.chunk(ref.length)
			s.drop()
			return
		}
	}
	switch {
	case ref.bare:
	case !s.loaded:
		maps.Copy(s.counted, s.indexed)
	case !maps.Equal(s.counted, s.indexed):
		ref.indexLen = 0 // what follows tells not, or not rightly, what is in the chunk
	}
	var messages uint64
	for channel, n := range s.counted {
		s.counts[channel] += n
		messages += n
	}
	s.total.add(messages, ref.start, ref.end)
	s.chunks.add(*ref)
	s.drop()
}

func (s *scan) drop() {
	s.open, s.loaded, s.odd = nil, false, false
	clear(s.counted)
	clear(s.indexed)
}

// unpack reads the open chunk, checks it and counts its messages. What is damaged inside a chunk that has no checksum
// costs what follows the damage.
func (s *scan) unpack() error {
	ref := s.open
	clear(s.counted)
	records, err := s.reader.load(*ref)
	if err != nil {
		return err
	}
	ref.told, s.loaded = true, true
	first := true
	at, err := walk(records, func(op mcaplib.OpCode, body []byte, _ int) error {
		if op != mcaplib.OpMessage {
			return s.describe(op, body)
		}
		m := parseMessage(body)
		s.counted[m.channel]++
		if first {
			ref.start, ref.end = m.log, m.log
			first = false
		}
		ref.start, ref.end = min(ref.start, m.log), max(ref.end, m.log)
		return nil
	})
	if err != nil {
		s.lost.parts++
		s.lost.partBytes += int64(len(records) - at)
	}
	return nil
}

// finish settles what is only known at the end: which messages belong to no channel.
func (s *scan) finish() {
	s.chunks.close()
	s.located, s.extrasKnown = true, true
	for channel, n := range s.counts {
		if _, ok := s.channels[channel]; ok {
			continue
		}
		s.total.messages -= n
		delete(s.counts, channel)
		s.lost.strangers += n
		s.lost.unknown = append(s.lost.unknown, channel)
	}
	if s.total.messages == 0 {
		s.total = span{}
	}
	s.lost.unfinished = !s.ended
	if s.statistics != nil {
		var sum uint64
		for _, n := range s.statistics.ChannelMessageCounts {
			sum += n
		}
		if sum == s.statistics.MessageCount { // else it is damaged itself
			s.lost.expected = sum
		}
	}
	s.damage = s.lost.sentence(s.total.messages)
}
