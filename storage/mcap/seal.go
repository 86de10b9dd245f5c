package mcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// Seal implements storage.Writer.
func (w *Writer) Seal(metadata []byte) error {
	w.mu.Lock()
	defer w.unlock()
	if err := w.flush(); err != nil {
		return err
	}
	start, newest := w.sink.offset(), w.metadata
	if err := w.writeEnd(metadata); err != nil {
		w.metadata = newest
		return w.fail(start, err)
	}
	if err := w.sync(); err != nil {
		w.failed = err
		return err
	}
	return w.close()
}

// writeEnd writes the metadata record, the end of the data section, the summary section and the footer.
func (w *Writer) writeEnd(metadata []byte) error {
	if len(metadata) > 0 {
		if err := w.writeMetadata(metadata); err != nil {
			return err
		}
	}
	end := mcaplib.DataEnd{}
	if w.options.EnableDataCRC {
		end.DataSectionCRC = w.sink.crc
	}
	if err := w.library.WriteDataEnd(&end); err != nil {
		return err
	}
	// The summary is what readers trust without looking further, so it gets its checksum.
	w.sink.withCRC, w.sink.crc = !w.options.NoSummaryCRC, 0
	var summary, offsets int64
	if !w.options.NoSummary {
		summary = w.sink.offset()
		groups, err := w.writeSummary()
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			summary = 0
		} else if !w.options.NoSummaryOffsets {
			offsets = w.sink.offset()
			for _, group := range groups {
				if err := w.library.WriteSummaryOffset(&group); err != nil {
					return err
				}
			}
		}
	}
	if err := w.writeFooter(uint64(summary), uint64(offsets)); err != nil {
		return err
	}
	return w.sink.flush()
}

// writeSummary writes the groups of the summary section and says where each lies.
func (w *Writer) writeSummary() ([]mcaplib.SummaryOffset, error) {
	o := &w.options
	steps := []struct {
		op    mcaplib.OpCode
		skip  bool
		write func() error
	}{
		{mcaplib.OpSchema, o.NoRepeatedSchemas, w.repeatSchemas},
		{mcaplib.OpChannel, o.NoRepeatedChannels, w.repeatChannels},
		{mcaplib.OpStatistics, o.NoStatistics, w.writeStatistics},
		{mcaplib.OpChunkIndex, o.NoChunkIndex || !w.repeats(), func() error { return w.index.write(w.sink) }},
		{mcaplib.OpAttachmentIndex, o.NoAttachmentIndex, w.writeAttachmentIndexes},
		{mcaplib.OpMetadataIndex, o.NoMetadataIndex, w.writeMetadataIndexes},
	}
	var groups []mcaplib.SummaryOffset
	for _, step := range steps {
		if step.skip {
			continue
		}
		start := w.sink.offset()
		if err := step.write(); err != nil {
			return nil, err
		}
		if length := w.sink.offset() - start; length > 0 {
			groups = append(groups, mcaplib.SummaryOffset{
				GroupOpcode: step.op, GroupStart: uint64(start), GroupLength: uint64(length),
			})
		}
	}
	return groups, nil
}

// repeats tells whether the summary describes all channels. If not, there can be no chunk indexes (MCAP specification,
// Chunk Index): readers that find some look for channels nowhere else, and fail.
func (w *Writer) repeats() bool { return !w.options.NoRepeatedSchemas && !w.options.NoRepeatedChannels }

func (w *Writer) writeStatistics() error {
	s := w.library.Statistics
	s.MessageCount, s.ChunkCount = w.total.messages, w.index.chunks
	s.MessageStartTime, s.MessageEndTime = uint64(w.total.start), uint64(w.total.end)
	if !w.options.NoRepeatedChannels { // counts may only name channels that the summary has
		for i, topic := range w.topics {
			s.ChannelMessageCounts[w.channels[i].ID] = topic.MessageCount
		}
	}
	return w.library.WriteStatistics(s)
}

func (w *Writer) writeAttachmentIndexes() error {
	for _, index := range w.library.AttachmentIndexes {
		if err := w.library.WriteAttachmentIndex(index); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeMetadataIndexes() error {
	for _, index := range w.library.MetadataIndexes {
		if err := w.library.WriteMetadataIndex(index); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) repeatSchemas() error {
	for _, id := range slices.Sorted(maps.Keys(w.schemas)) {
		if err := w.library.WriteSchema(w.schemas[id].record(id)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) repeatChannels() error {
	for _, channel := range w.channels {
		if err := w.library.WriteChannel(channel); err != nil {
			return err
		}
	}
	return nil
}

// writeFooter is written here because the library knows the checksum only when it also sums up the data section.
func (w *Writer) writeFooter(summary, offsets uint64) error {
	footer := make([]byte, 0, footerLen)
	footer = append(footer, byte(mcaplib.OpFooter))
	footer = binary.LittleEndian.AppendUint64(footer, footerBodyLen)
	footer = binary.LittleEndian.AppendUint64(footer, summary)
	footer = binary.LittleEndian.AppendUint64(footer, offsets)
	if _, err := w.sink.Write(footer); err != nil {
		return err
	}
	var crc uint32
	if summary != 0 && !w.options.NoSummaryCRC {
		crc = w.sink.crc
	}
	tail := binary.LittleEndian.AppendUint32(nil, crc)
	tail = append(tail, mcaplib.Magic...)
	_, err := w.sink.Write(tail)
	return err
}

// Close implements storage.Writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close()
}

func (w *Writer) close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if w.failed == nil {
		w.failed = fmt.Errorf("write %s: %w", w.path, storage.ErrSealed)
	}
	var err error
	if w.compressor != nil {
		err = w.compressor.close()
	}
	if closeErr := errors.Join(w.index.close(), w.sink.file.Close()); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", w.path, storage.WithoutPath(closeErr)))
	}
	return err
}
