package mcap

import (
	"encoding/binary"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// chunkRecordLen is the length of a chunk record with its header.
func chunkRecordLen(head chunkHead) uint64 {
	return recordHeaderLen + chunkFixedLen + uint64(len(head.compression)) + head.recordsLen
}

// appendChunkHead appends what stands before the records of a chunk (MCAP specification, Chunk).
func appendChunkHead(to []byte, head chunkHead) []byte {
	to = append(to, byte(mcaplib.OpChunk))
	to = binary.LittleEndian.AppendUint64(to, chunkRecordLen(head)-recordHeaderLen)
	to = binary.LittleEndian.AppendUint64(to, uint64(head.start))
	to = binary.LittleEndian.AppendUint64(to, uint64(head.end))
	to = binary.LittleEndian.AppendUint64(to, head.uncompressed)
	to = binary.LittleEndian.AppendUint32(to, head.crc)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(head.compression)))
	to = append(to, head.compression...)
	return binary.LittleEndian.AppendUint64(to, head.recordsLen)
}

// cut writes what was gathered: as a chunk with its message indexes, or as it is when the file has no chunks. The
// caller holds mu.
func (w *Writer) cut() error {
	b := w.builder
	if b.empty() {
		return nil
	}
	if err := w.announce(); err != nil {
		return err
	}
	start := w.sink.offset()
	var err error
	if w.options.NoChunking {
		w.parts = b.parts(w.parts[:0])
		err = w.sink.writeVector(w.parts)
	} else {
		err = w.writeBuilt()
	}
	clear(w.parts)
	if err != nil {
		b.reset()
		return w.fail(start, err)
	}
	for _, id := range b.used {
		w.topics[id].MessageCount += uint64(b.topics[id].messages)
		w.topics[id].PayloadBytes += b.topics[id].payload
	}
	w.total.add(b.messages, b.start, b.end)
	b.reset()
	return nil
}

func (w *Writer) writeBuilt() error {
	b := w.builder
	head := chunkHead{start: b.start, end: b.end, uncompressed: uint64(b.size), recordsLen: uint64(b.size)}
	if !w.options.NoChunkCRC {
		head.crc = b.crc()
	}
	w.parts = append(w.parts[:0], nil)
	packed, err := w.pack(b.records)
	if err != nil {
		return err
	}
	if packed != nil {
		head.compression, head.recordsLen = w.options.Compression, uint64(len(packed))
		w.parts = append(w.parts, packed)
	} else {
		w.parts = b.parts(w.parts)
	}
	w.counts = w.counts[:0]
	if !w.options.NoMessageIndex {
		for _, id := range b.used {
			w.counts = append(w.counts, channelCount{channel: b.topics[id].channel, messages: b.topics[id].messages})
		}
		w.indexes = b.index(w.indexes)
		w.parts = append(w.parts, w.indexes)
	}
	return w.putChunk(head, w.parts, w.counts)
}

// putChunk writes a chunk and its message index records. The first of parts is left free for the head of the chunk, the
// last ones are the index records, of which counts says the same.
func (w *Writer) putChunk(head chunkHead, parts [][]byte, counts []channelCount) error {
	offset := w.sink.offset()
	w.head = appendChunkHead(w.head[:0], head)
	parts[0] = w.head
	if err := w.sink.writeVector(parts); err != nil {
		return err
	}
	return w.index.add(uint64(offset), head, counts)
}

const (
	// minCompressed is the least size of a chunk that is worth compressing: below it lz4 and zstd find little.
	minCompressed = 1 << 10
	// Compression that saves less than 2 % only costs the readers.
	leastSavings = 1.02
)

// pack compresses the records of a chunk, or returns nil for those that stay as they are.
func (w *Writer) pack(records []byte) ([]byte, error) {
	force := w.options.ForceCompression
	if w.compressor == nil || len(records) > maxUncompressed || (len(records) < minCompressed && !force) {
		return nil, nil
	}
	packed, err := w.compressor.compress(records)
	if err != nil {
		return nil, err
	}
	if float64(len(records)) < leastSavings*float64(len(packed)) && !force {
		return nil, nil
	}
	return packed, nil
}
