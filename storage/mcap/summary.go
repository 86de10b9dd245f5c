package mcap

import (
	"errors"
	"fmt"
	"hash/crc32"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// errNoSummary says that a file has an end but no summary, which is allowed.
var errNoSummary = errors.New("file has no summary")

// readSummary reads footer and summary section. An error means that the file must be scanned: errNoSummary when it
// was written so, anything else when it is unfinished or damaged.
func readSummary(src source) (*contents, error) {
	w := window{source: src}
	tailLen := int64(footerLen + len(mcaplib.Magic))
	if src.size < int64(len(mcaplib.Magic))+tailLen {
		return nil, src.corrupt(src.size, errNoRecord)
	}
	footerAt := src.size - tailLen
	tail, err := src.slice(footerAt, tailLen)
	if err != nil {
		return nil, err
	}
	if string(tail[footerLen:]) != string(mcaplib.Magic) || tail[0] != byte(mcaplib.OpFooter) {
		return nil, src.corrupt(footerAt, errNoRecord)
	}
	footer, err := mcaplib.ParseFooter(tail[recordHeaderLen:footerLen])
	if err != nil {
		return nil, src.corrupt(footerAt, err)
	}
	if footer.SummaryStart == 0 {
		return nil, errNoSummary
	}
	if footer.SummaryStart > uint64(footerAt) {
		return nil, src.corrupt(footerAt, errNoRecord)
	}
	start := int64(footer.SummaryStart)
	s := summary{contents: newContents(), source: src, start: start}
	crc := uint32(0)
	for at := start; at < footerAt; {
		rec, err := w.record(at, footerAt)
		if err != nil {
			return nil, err
		}
		whole, err := w.bytes(rec.offset, recordHeaderLen+rec.length)
		if err != nil {
			return nil, err
		}
		if footer.SummaryCRC != 0 {
			crc = crc32.Update(crc, crc32.IEEETable, whole)
		}
		if err := s.take(rec, whole[recordHeaderLen:]); err != nil {
			return nil, src.corrupt(at, err)
		}
		at = rec.end()
	}
	if footer.SummaryCRC != 0 && crc32.Update(crc, crc32.IEEETable, tail[:footerLen-4]) != footer.SummaryCRC {
		return nil, src.corrupt(start, errChecksum)
	}
	return s.finish()
}

// summary is a summary section being read.
type summary struct {
	source
	*contents
	start      int64
	statistics *mcaplib.Statistics
	metadataAt []*mcaplib.MetadataIndex
}

func (s *summary) take(rec record, body []byte) error {
	switch rec.op {
	case mcaplib.OpSchema, mcaplib.OpChannel:
		return s.describe(rec.op, body)
	case mcaplib.OpStatistics:
		statistics, err := mcaplib.ParseStatistics(body)
		s.statistics = statistics
		return err
	case mcaplib.OpMetadataIndex:
		index, err := mcaplib.ParseMetadataIndex(body)
		if err == nil && index.Name == metadataRecord {
			s.metadataAt = append(s.metadataAt, index)
		}
		return err
	case mcaplib.OpChunkIndex:
		return s.takeChunk(rec, body)
	}
	return nil
}

func (s *summary) takeChunk(rec record, body []byte) error {
	c := cursor{rest: body}
	ref := chunkRef{start: nanos(c.uint64()), end: nanos(c.uint64())}
	offset, length := c.uint64(), c.uint64()
	channels := c.uint32()
	ref.channelsAt = rec.body() + int64(len(body)-len(c.rest))
	ref.channelsLen = int64(channels)
	c.take(uint64(channels))
	indexLen := c.uint64()
	if c.err != nil {
		return c.err
	}
	limit := uint64(s.start)
	if offset > limit || length > limit-offset || indexLen > limit-offset-length || length < recordHeaderLen+chunkFixedLen {
		return fmt.Errorf("chunk index: %w", errNoRecord)
	}
	ref.offset, ref.length, ref.indexLen = int64(offset), int64(length), int64(indexLen)
	if ref.end < ref.start {
		return fmt.Errorf("chunk index: %w", errNoRecord)
	}
	s.chunks = append(s.chunks, ref)
	return nil
}

// finish checks that the summary tells everything that the reader needs.
func (s *summary) finish() (*contents, error) {
	if s.statistics == nil {
		return nil, errNoSummary
	}
	var counted uint64
	for id, n := range s.statistics.ChannelMessageCounts {
		if _, ok := s.channels[id]; !ok && n > 0 {
			return nil, errNoSummary
		}
		counted += n
	}
	if counted != s.statistics.MessageCount {
		return nil, errNoSummary
	}
	s.counts = s.statistics.ChannelMessageCounts
	s.total.add(counted, nanos(s.statistics.MessageStartTime), nanos(s.statistics.MessageEndTime))
	s.located = uint64(len(s.chunks)) == uint64(s.statistics.ChunkCount) && (len(s.chunks) > 0 || counted == 0)
	for _, index := range s.metadataAt {
		if err := s.readMetadata(index); err != nil {
			return nil, err
		}
	}
	return s.contents, nil
}

func (s *summary) readMetadata(index *mcaplib.MetadataIndex) error {
	if index.Offset > uint64(s.size) {
		return s.corrupt(s.start, errNoRecord)
	}
	w := window{source: s.source}
	rec, err := w.record(int64(index.Offset), s.start)
	if err != nil {
		return err
	}
	if rec.op != mcaplib.OpMetadata {
		return s.corrupt(rec.offset, errNoRecord)
	}
	body, err := w.body(rec)
	if err != nil {
		return err
	}
	if err := s.takeMetadata(body); err != nil {
		return s.corrupt(rec.offset, err)
	}
	return nil
}
