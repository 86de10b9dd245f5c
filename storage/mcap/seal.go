package mcap

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// Seal implements storage.Writer.
func (w *Writer) Seal(metadata []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flush(); err != nil {
		return err
	}
	start := w.sink.offset()
	if err := w.writeEnd(metadata); err != nil {
		return w.fail(start, err)
	}
	if err := w.sink.sync(); err != nil {
		w.failed = fmt.Errorf("sync %s: %w", w.path, err)
		return w.failed
	}
	return w.close()
}

// writeEnd writes the metadata record, the end of the data section, the summary section and the footer.
func (w *Writer) writeEnd(metadata []byte) error {
	if err := w.writeMetadata(metadata); err != nil {
		return err
	}
	if err := w.library.WriteDataEnd(&mcaplib.DataEnd{}); err != nil {
		return err
	}
	// The summary is what readers trust without looking further, so it gets its checksum.
	w.sink.withCRC, w.sink.crc = true, 0
	summary := w.sink.offset()
	groups, err := w.writeSummary()
	if err != nil {
		return err
	}
	offsets := w.sink.offset()
	for _, group := range groups {
		if err := w.library.WriteSummaryOffset(&group); err != nil {
			return err
		}
	}
	if err := w.writeFooter(uint64(summary), uint64(offsets)); err != nil {
		return err
	}
	return w.sink.flush()
}

// writeSummary writes the groups of the summary section and says where each lies.
func (w *Writer) writeSummary() ([]mcaplib.SummaryOffset, error) {
	w.library.Statistics.MessageCount = w.total.messages
	w.library.Statistics.MessageStartTime = uint64(w.total.start)
	w.library.Statistics.MessageEndTime = uint64(w.total.end)
	for i, topic := range w.topics {
		w.library.Statistics.ChannelMessageCounts[w.channels[i].ID] = topic.MessageCount
	}
	steps := []struct {
		op    mcaplib.OpCode
		write func() error
	}{
		{mcaplib.OpSchema, w.repeatSchemas},
		{mcaplib.OpChannel, w.repeatChannels},
		{mcaplib.OpStatistics, func() error { return w.library.WriteStatistics(w.library.Statistics) }},
		{mcaplib.OpChunkIndex, func() error { return w.index.write(w.library) }},
		{mcaplib.OpMetadataIndex, func() error {
			for _, index := range w.library.MetadataIndexes {
				if err := w.library.WriteMetadataIndex(index); err != nil {
					return err
				}
			}
			return nil
		}},
	}
	var groups []mcaplib.SummaryOffset
	for _, step := range steps {
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
	tail := binary.LittleEndian.AppendUint32(nil, w.sink.crc)
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
	if w.compressor == nil {
		return nil
	}
	compressorErr := w.compressor.close()
	w.compressor = nil
	if w.failed == nil {
		w.failed = fmt.Errorf("write %s: %w", w.path, storage.ErrSealed)
	}
	if err := w.sink.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", w.path, err)
	}
	return compressorErr
}
