package mcap

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

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
	s := summary{contents: newContents(), source: src, start: start, behind: int64(len(mcaplib.Magic))}
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
	if s.unordered {
		if err := s.order(&w, footerAt); err != nil {
			return nil, err
		}
	}
	if start > s.behind {
		s.gaps = append(s.gaps, [2]int64{s.behind, start})
	}
	s.checked = footer.SummaryCRC != 0
	return s.finish()
}

// summary is a summary section being read.
type summary struct {
	source
	*contents
	start      int64
	behind     int64 // end of the last chunk with its message indexes
	unordered  bool  // chunk indexes do not stand in the order of the chunks
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
		if err != nil {
			return err
		}
		if index.Name == metadataRecord {
			s.metadataAt = append(s.metadataAt, index)
		}
		return s.takeExtra(rec.op, index.Offset)
	case mcaplib.OpAttachmentIndex:
		index, err := mcaplib.ParseAttachmentIndex(body)
		if err != nil {
			return err
		}
		return s.takeExtra(rec.op, index.Offset)
	case mcaplib.OpChunkIndex:
		return s.takeChunk(rec, body)
	}
	return nil
}

func (s *summary) takeChunk(rec record, body []byte) error {
	ref, err := parseChunkRef(body)
	if err != nil {
		return err
	}
	if ref.offset+ref.length+ref.indexLen > s.start || ref.offset < int64(len(mcaplib.Magic)) {
		return fmt.Errorf("chunk index: %w", errNoRecord)
	}
	if s.unordered || !s.chunks.addIndexed(ref, rec) {
		s.unordered = true
		return nil
	}
	s.gap(ref)
	return nil
}

// gap notes what lies between a chunk with its message indexes and the one before.
func (s *summary) gap(ref chunkRef) {
	if ref.offset > s.behind {
		s.gaps = append(s.gaps, [2]int64{s.behind, ref.offset})
	}
	s.behind = ref.offset + ref.length + ref.indexLen
}

// order reads the chunk indexes again when they do not stand in the order of the chunks.
func (s *summary) order(w *window, until int64) error {
	var refs []chunkRef
	for at := s.start; at < until; {
		rec, err := w.record(at, until)
		if err != nil {
			return err
		}
		if rec.op == mcaplib.OpChunkIndex {
			body, err := w.body(rec)
			if err != nil {
				return err
			}
			ref, err := parseChunkRef(body)
			if err != nil {
				return s.corrupt(at, err)
			}
			ref.channels = nil // the message indexes tell the same
			refs = append(refs, ref)
		}
		at = rec.end()
	}
	slices.SortStableFunc(refs, func(a, b chunkRef) int { return cmp.Compare(a.offset, b.offset) })
	s.chunks, s.gaps, s.behind = &chunkList{}, nil, int64(len(mcaplib.Magic))
	for _, ref := range refs {
		if ref.offset < s.chunks.until {
			return s.corrupt(s.start, fmt.Errorf("chunk index: %w", errNoRecord))
		}
		s.chunks.add(ref)
		s.gap(ref)
	}
	s.chunks.close()
	return nil
}

// takeExtra notes where an attachment or a metadata record lies.
func (s *summary) takeExtra(op mcaplib.OpCode, offset uint64) error {
	if offset >= uint64(s.start) {
		return fmt.Errorf("index: %w", errNoRecord)
	}
	of := mcaplib.OpMetadata
	if op == mcaplib.OpAttachmentIndex {
		of = mcaplib.OpAttachment
	}
	s.extras = append(s.extras, extraRef{op: of, offset: int64(offset)})
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
	s.indexed = s.chunks.count == int(s.statistics.ChunkCount) && (s.chunks.count > 0 || counted == 0)
	s.extrasKnown = uint64(len(s.extras)) == uint64(s.statistics.AttachmentCount)+uint64(s.statistics.MetadataCount)
	indexed := func(e extraRef) bool { return e.op == mcaplib.OpMetadata }
	if s.statistics.MetadataCount > 0 && !slices.ContainsFunc(s.extras, indexed) {
		return nil, errNoSummary // the bag's metadata may be among them
	}
	slices.SortFunc(s.extras, func(a, b extraRef) int { return cmp.Compare(a.offset, b.offset) })
	slices.SortFunc(s.metadataAt, func(a, b *mcaplib.MetadataIndex) int { return cmp.Compare(a.Offset, b.Offset) })
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
	if rest := s.start - int64(index.Offset); rest > 0 && index.Length <= uint64(min(rest, windowLen)) {
		var err error
		if w.buffer, err = s.slice(int64(index.Offset), int64(index.Length)); err != nil {
			return err
		}
		w.at = int64(index.Offset) // no more is read than the record, if the index is right
	}
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
