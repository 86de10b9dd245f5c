package mcap

import (
	"bytes"
	"fmt"
	"hash/crc32"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// verifiedSummary compares the summary section with what the data section has.
type verifiedSummary struct {
	*verifier
	start      int64
	crc        uint32
	files      window // on the data section
	statistics bool
	offsetsAt  int64 // of the first summary offset; 0 when there is none
	groups     []summaryGroup
	listed     map[mcaplib.OpCode]uint64
	split      map[mcaplib.OpCode]bool // was told
	// What the data section has; rosbag2 writes topics without messages to the summary only.
	schemaCount, channelCount uint64
	onlyHere                  uint64
	onlyHereAt                int64
}

// summaryGroup is a run of records of one kind.
type summaryGroup struct {
	op            mcaplib.OpCode
	start, length int64
	told          bool // a summary offset names it
}

// summary goes on behind the data section to the end of the file.
func (c *verifier) summary(at int64) error {
	s := verifiedSummary{
		verifier: c, start: at, files: window{source: c.source},
		listed: map[mcaplib.OpCode]uint64{}, split: map[mcaplib.OpCode]bool{},
		schemaCount: uint64(len(c.schemas)), channelCount: uint64(len(c.channels)),
	}
	if c.end.known && c.end.footer.SummaryStart != 0 && at != c.end.summaryStart {
		c.tell(storage.Fault, c.end.footerAt, "footer: the summary begins at byte %d, not at byte %d", at, c.end.summaryStart)
	}
	limit := c.size
	if c.end.known {
		limit = c.end.footerAt + footerLen
	}
	for at = s.start; at < limit; {
		rec, err := c.record(at, limit)
		var whole []byte
		if err == nil {
			whole, err = c.bytes(rec.offset, recordHeaderLen+rec.length)
		}
		if err == nil {
			if rec.op == mcaplib.OpFooter {
				return s.finish(rec, whole)
			}
			s.crc = crc32.Update(s.crc, crc32.IEEETable, whole)
			err = s.take(rec, whole[recordHeaderLen:])
		}
		if err != nil && !storage.IsCorruption(err) {
			return err
		}
		if err != nil {
			return s.broken(at, reason(err))
		}
		c.v.Progress(rec.end() - at)
		at = rec.end()
	}
	c.tell(storage.Damage, at, "unfinished: the summary ends without a footer")
	return nil
}

// broken gives the summary up. The footer may still be right.
func (s *verifiedSummary) broken(at int64, why error) error {
	s.v.Progress(s.size - at)
	if !s.end.known {
		s.tell(storage.Damage, at, "unfinished or cut off: summary: %v; %d bytes from here on are of no use", why, s.size-at)
		return nil
	}
	s.tell(storage.Fault, at, "summary: %v; %d bytes of it can not be read", why, s.end.footerAt-at)
	return nil
}

func (s *verifiedSummary) take(rec record, body []byte) error {
	s.group(rec)
	s.listed[rec.op]++
	switch rec.op {
	case mcaplib.OpSchema:
		return s.takeSchema(rec, body)
	case mcaplib.OpChannel:
		return s.takeChannel(rec, body)
	case mcaplib.OpStatistics:
		return s.takeStatistics(rec, body)
	case mcaplib.OpChunkIndex:
		index, err := parseChunkIndex(body)
		if err != nil {
			return s.corrupt(rec.offset, err)
		}
		return s.compareIndex(&s.files, rec, index)
	case mcaplib.OpAttachmentIndex:
		return s.takeAttachmentIndex(rec, body)
	case mcaplib.OpMetadataIndex:
		return s.takeMetadataIndex(rec, body)
	case mcaplib.OpSummaryOffset:
		return s.takeOffset(rec, body)
	}
	s.tell(storage.Notice, rec.offset, "record of type 0x%02x does not belong into the summary", byte(rec.op))
	return nil
}

// group adds a record to those of its kind, which must stand together.
func (s *verifiedSummary) group(rec record) {
	switch n := len(s.groups); {
	case rec.op == mcaplib.OpSummaryOffset:
	case n > 0 && s.groups[n-1].op == rec.op:
		s.groups[n-1].length += rec.end() - rec.offset
	case s.listed[rec.op] == 0:
		s.groups = append(s.groups, summaryGroup{op: rec.op, start: rec.offset, length: rec.end() - rec.offset})
	case !s.split[rec.op]:
		s.split[rec.op] = true
		s.tell(storage.Fault, rec.offset, "summary: records of type 0x%02x do not stand together", byte(rec.op))
	}
}

func (s *verifiedSummary) takeSchema(rec record, body []byte) error {
	schema, err := mcaplib.ParseSchema(body)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	if _, ok := s.schemas[schema.ID]; !ok {
		s.onlyInSummary(rec)
	}
	return s.takeDescription(rec.op, body, rec.offset)
}

func (s *verifiedSummary) takeChannel(rec record, body []byte) error {
	channel, err := mcaplib.ParseChannel(body)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	s.repeated[channel.ID] = true
	if _, ok := s.channels[channel.ID]; !ok {
		s.onlyInSummary(rec)
	}
	return s.takeDescription(rec.op, body, rec.offset)
}

func (s *verifiedSummary) onlyInSummary(rec record) {
	if s.onlyHere == 0 {
		s.onlyHereAt = rec.offset
	}
	s.onlyHere++
}

func (s *verifiedSummary) takeStatistics(rec record, body []byte) error {
	told, err := mcaplib.ParseStatistics(body)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	if s.statistics {
		s.tell(storage.Fault, rec.offset, "second statistics record")
		return nil
	}
	s.statistics = true
	compare := func(what string, told, found uint64) {
		if told != found {
			s.tell(storage.Fault, rec.offset, "statistics: %d %s, the file has %d", told, what, found)
		}
	}
	compare("messages", told.MessageCount, s.total.messages)
	compare("schemas", uint64(told.SchemaCount), s.schemaCount)
	compare("channels", uint64(told.ChannelCount), s.channelCount)
	compare("attachments", uint64(told.AttachmentCount), uint64(len(s.attachments)))
	compare("metadata records", uint64(told.MetadataCount), uint64(len(s.records)))
	compare("chunks", uint64(told.ChunkCount), uint64(len(s.chunksAt)))
	if start, end := nanos(told.MessageStartTime), nanos(told.MessageEndTime); s.total.messages > 0 && (start != s.total.start || end != s.total.end) {
		s.tell(storage.Fault, rec.offset, "statistics: messages from %d to %d ns, the file has them from %d to %d ns",
			start, end, s.total.start, s.total.end)
	}
	if len(told.ChannelMessageCounts) == 0 { // not told
		return nil
	}
	for _, channel := range s.order {
		if told, found := told.ChannelMessageCounts[channel], s.counts[channel]; told != found {
			s.tell(storage.Fault, rec.offset, "statistics: %d messages of channel %d (topic %s), the file has %d",
				told, channel, storage.Printable(s.channels[channel].Topic), found)
		}
	}
	return nil
}

func (s *verifiedSummary) takeAttachmentIndex(rec record, body []byte) error {
	index, err := mcaplib.ParseAttachmentIndex(body)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	if index.Offset > uint64(s.size) || !has(s.attachments, int64(index.Offset)) {
		s.tell(storage.Fault, rec.offset, "attachment index: no attachment begins at byte %d", index.Offset)
		return nil
	}
	attachment, err := s.files.record(int64(index.Offset), s.start)
	if err != nil {
		return err
	}
	head, err := readAttachmentHead(s.source, attachment)
	if err != nil {
		return err
	}
	if index.Length != uint64(recordHeaderLen+attachment.length) || index.Name != head.name || index.MediaType != head.mediaType ||
		index.LogTime != head.logTime || index.CreateTime != head.createTime || index.DataSize != head.dataLen {
		s.tell(storage.Fault, rec.offset, "attachment index: differs from the attachment at byte %d", index.Offset)
	}
	return nil
}

func (s *verifiedSummary) takeMetadataIndex(rec record, body []byte) error {
	index, err := mcaplib.ParseMetadataIndex(body)
	if err != nil {
		return s.corrupt(rec.offset, err)
	}
	if index.Offset > uint64(s.size) || !has(s.records, int64(index.Offset)) {
		s.tell(storage.Fault, rec.offset, "metadata index: no metadata record begins at byte %d", index.Offset)
		return nil
	}
	found, err := s.files.record(int64(index.Offset), s.start)
	if err != nil {
		return err
	}
	content, err := s.files.body(found)
	if err != nil {
		return err
	}
	fields := cursor{rest: content}
	if name := fields.text(); index.Length != uint64(recordHeaderLen+found.length) || index.Name != name {
		s.tell(storage.Fault, rec.offset, "metadata index: differs from the metadata record at byte %d", index.Offset)
	}
	return nil
}

func (s *verifiedSummary) takeOffset(rec record, body []byte) error {
	fields := cursor{rest: body}
	op := fields.take(1)
	start, length := fields.uint64(), fields.uint64()
	if fields.err != nil {
		return s.corrupt(rec.offset, fields.err)
	}
	if s.offsetsAt == 0 {
		s.offsetsAt = rec.offset
	}
	for i := range s.groups {
		group := &s.groups[i]
		if group.op == mcaplib.OpCode(op[0]) && uint64(group.start) == start && uint64(group.length) == length {
			group.told = true
			return nil
		}
	}
	s.tell(storage.Fault, rec.offset, "summary offset: no records of type 0x%02x are the %d bytes from byte %d on", op[0], length, start)
	return nil
}

// finish compares the footer, and what only the end of the summary tells.
func (s *verifiedSummary) finish(rec record, whole []byte) error {
	s.v.Progress(s.size - rec.offset)
	if len(whole) != footerLen {
		s.tell(storage.Fault, rec.offset, "footer has %d bytes, not %d", len(whole)-recordHeaderLen, footerBodyLen)
		return nil
	}
	footer, err := mcaplib.ParseFooter(whole[recordHeaderLen:])
	if err != nil {
		return fmt.Errorf("read footer: %w", err)
	}
	empty := rec.offset == s.start
	switch {
	case footer.SummaryStart == 0 && empty:
		s.tell(storage.Notice, rec.offset, "no summary: the file must be read whole to know what is in it")
	case footer.SummaryStart != uint64(s.start) && !s.end.known:
		s.tell(storage.Fault, rec.offset, "footer: the summary begins at byte %d, not at byte %d", s.start, footer.SummaryStart)
	}
	if footer.SummaryCRC != 0 && crc32.Update(s.crc, crc32.IEEETable, whole[:footerLen-4]) != footer.SummaryCRC {
		s.tell(storage.Fault, rec.offset, "footer: %v that of the summary, bytes %d to %d", errChecksum, s.start, rec.offset)
	}
	if footer.SummaryOffsetStart != uint64(s.offsetsAt) {
		s.tell(storage.Fault, rec.offset, "footer: the summary offsets begin at byte %d, not at byte %d", s.offsetsAt, footer.SummaryOffsetStart)
	}
	if !empty {
		s.compareLists(rec.offset)
	}
	tail, err := s.slice(rec.end(), min(s.size-rec.end(), int64(len(mcaplib.Magic))))
	if err != nil {
		return err
	}
	if !bytes.Equal(tail, mcaplib.Magic) {
		s.tell(storage.Damage, rec.end(), "unfinished: the magic bytes of MCAP do not follow the footer")
	} else if rest := s.size - rec.end() - int64(len(tail)); rest > 0 {
		s.tell(storage.Fault, rec.end()+int64(len(tail)), "%d bytes follow the end of the file", rest)
	}
	return nil
}

// compareLists tells what the summary leaves out. A list that is missing as a whole was left out on purpose.
func (s *verifiedSummary) compareLists(footerAt int64) {
	if !s.statistics {
		s.tell(storage.Notice, footerAt, "no statistics: the file must be read whole to know how many messages it has")
	}
	for _, list := range []struct {
		op    mcaplib.OpCode
		what  string
		found int
	}{
		{mcaplib.OpChunkIndex, "chunk", len(s.chunksAt)},
		{mcaplib.OpAttachmentIndex, "attachment", len(s.attachments)},
		{mcaplib.OpMetadataIndex, "metadata", len(s.records)},
	} {
		switch listed := s.listed[list.op]; {
		case listed == uint64(list.found):
		case listed == 0:
			s.tell(storage.Notice, footerAt, "no %s index, %d would be in it", list.what, list.found)
		case s.damaged && listed > uint64(list.found): // what could not be read is indexed
		default:
			s.tell(storage.Fault, footerAt, "summary: %s index of %d entries, the file has %d", list.what, listed, list.found)
		}
	}
	if s.onlyHere > 0 && !s.damaged {
		s.tell(storage.Notice, s.onlyHereAt, "%d schemas and channels, which no message needs, stand in the summary only", s.onlyHere)
	}
	if len(s.repeated) > 0 || s.listed[mcaplib.OpChannel] > 0 {
		for _, channel := range s.order {
			if !s.repeated[channel] {
				s.tell(storage.Fault, footerAt, "summary: channel %d (topic %s) is missing", channel, storage.Printable(s.channels[channel].Topic))
			}
		}
	}
	if s.offsetsAt != 0 {
		for _, group := range s.groups {
			if !group.told {
				s.tell(storage.Notice, group.start, "no summary offset tells of the records of type 0x%02x", byte(group.op))
			}
		}
	}
}
