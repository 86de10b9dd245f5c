package mcap

import (
	"encoding/binary"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// indexLog remembers the index of every chunk written until the file is sealed. Chunks are cut every second, so a day
// has many: a chunk costs some 60 bytes here and each of its channels two or three, where the library's maps cost
// more than twenty times that.
type indexLog struct {
	chunks   []loggedChunk
	channels []byte // for each chunk: uvarint pairs of channel id and number of messages, in the order of the file
}

type loggedChunk struct {
	start, end               uint64
	offset                   uint64
	length                   uint64 // of the chunk record
	compressed, uncompressed uint64
	channelsAt               int // position in indexLog.channels
	compression              uint8
}

// messageIndexLen is the length of a message index record with its header.
func messageIndexLen(entries int) uint64 { return recordHeaderLen + 2 + 4 + 16*uint64(entries) }

// compressions are what loggedChunk.compression counts through. Chunks that were copied keep theirs.
func compressions() []Compression {
	return []Compression{CompressionNone, CompressionLZ4, CompressionZstd}
}

// add takes what the library noted about its newest chunk, with the message indexes that were written behind it.
func (l *indexLog) add(c *mcaplib.ChunkIndex, indexes []*mcaplib.MessageIndex) {
	l.begin(c)
	for _, index := range indexes {
		l.addChannel(index.ChannelID, len(index.Entries()))
	}
}

// begin takes a chunk; addChannel must follow for each of its message indexes, in the order of the file.
func (l *indexLog) begin(c *mcaplib.ChunkIndex) {
	l.chunks = append(l.chunks, loggedChunk{
		start: c.MessageStartTime, end: c.MessageEndTime, offset: c.ChunkStartOffset, length: c.ChunkLength,
		compressed: c.CompressedSize, uncompressed: c.UncompressedSize, channelsAt: len(l.channels),
		compression: uint8(slices.Index(compressions(), Compression(c.Compression))),
	})
}

func (l *indexLog) addChannel(channel uint16, messages int) {
	l.channels = binary.AppendUvarint(l.channels, uint64(channel))
	l.channels = binary.AppendUvarint(l.channels, uint64(messages))
}

// write hands the chunk indexes to the library one after the other.
func (l *indexLog) write(w *mcaplib.Writer) error {
	index := mcaplib.ChunkIndex{MessageIndexOffsets: map[uint16]uint64{}}
	for i, chunk := range l.chunks {
		clear(index.MessageIndexOffsets)
		until := len(l.channels)
		if i+1 < len(l.chunks) {
			until = l.chunks[i+1].channelsAt
		}
		at := chunk.offset + chunk.length
		for rest := l.channels[chunk.channelsAt:until]; len(rest) > 0; {
			channel, n := binary.Uvarint(rest)
			entries, m := binary.Uvarint(rest[n:])
			rest = rest[n+m:]
			index.MessageIndexOffsets[uint16(channel)] = at
			at += messageIndexLen(int(entries))
		}
		index.MessageStartTime, index.MessageEndTime = chunk.start, chunk.end
		index.ChunkStartOffset, index.ChunkLength = chunk.offset, chunk.length
		index.MessageIndexLength = at - chunk.offset - chunk.length
		index.CompressedSize, index.UncompressedSize = chunk.compressed, chunk.uncompressed
		index.Compression = mcaplib.CompressionFormat(compressions()[chunk.compression])
		if err := w.WriteChunkIndex(&index); err != nil {
			return err
		}
	}
	return nil
}
