package mcap

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

const (
	recordHeaderLen  = 1 + 8         // opcode, length
	messageHeaderLen = 2 + 4 + 8 + 8 // channel, sequence, log time, publish time
	messageOverhead  = recordHeaderLen + messageHeaderLen
	indexHeaderLen   = recordHeaderLen + 2 + 4 // channel, length of the entries
	indexEntryLen    = 8 + 8                   // log time, offset
)

// chunkBuilder gathers the message records of one chunk. Its memory is used again for the next one.
//
// A payload is either copied or borrowed: a borrowed one stays with the caller, and its record has only the header
// here. Where messages lie is not noted for each: it stands in the headers, which index goes through once at the end.
// So memory is bounded by the chunk's size, however its messages spread over topics.
type chunkBuilder struct {
	limit    int // bytes that records keeps for the next chunk
	records  []byte
	borrowed []borrowed
	size     int          // bytes of the records with the borrowed payloads
	topics   []topicCount // by topic id
	used     []int        // topic ids with messages in this chunk, in order of their first one
	at       []int        // by channel id, where index puts the next entry
	messages uint64
	start    int64
	end      int64
}

// borrowed is a payload that belongs at a position in chunkBuilder.records.
type borrowed struct {
	at   int
	data []byte
}

// topicCount is what a chunk has of one topic.
type topicCount struct {
	channel  uint16
	messages int
	payload  uint64 // bytes
}

func newChunkBuilder(limit int) *chunkBuilder {
	b := &chunkBuilder{limit: limit}
	b.reset()
	return b
}

// grow makes room for the next topic.
func (b *chunkBuilder) grow(channel uint16) {
	b.topics = append(b.topics, topicCount{channel: channel})
	for len(b.at) <= int(channel) {
		b.at = append(b.at, 0)
	}
}

func (b *chunkBuilder) empty() bool { return b.size == 0 }

// borrows tells whether a payload is still with the caller.
func (b *chunkBuilder) borrows() bool { return len(b.borrowed) > 0 }

// add takes a message, whose topic must be known. Its payload is copied, or borrowed until reset.
func (b *chunkBuilder) add(m *storage.Message, borrow bool) {
	topic := &b.topics[m.Topic]
	if topic.messages == 0 {
		b.used = append(b.used, int(m.Topic))
	}
	topic.messages++
	topic.payload += uint64(len(m.Data))
	size := messageOverhead + len(m.Data)
	stored := size
	if borrow {
		stored = messageOverhead
	}
	at := len(b.records)
	if at+stored > cap(b.records) {
		b.records = slices.Grow(b.records, b.room(stored))
	}
	b.records = b.records[:at+stored]
	header := b.records[at:]
	header[0] = byte(mcaplib.OpMessage)
	binary.LittleEndian.PutUint64(header[1:], uint64(messageHeaderLen+len(m.Data)))
	binary.LittleEndian.PutUint16(header[9:], topic.channel)
	binary.LittleEndian.PutUint32(header[11:], m.Sequence)
	binary.LittleEndian.PutUint64(header[15:], uint64(m.LogTimeNanos))
	binary.LittleEndian.PutUint64(header[23:], uint64(m.PublishTimeNanos))
	if borrow {
		b.borrowed = append(b.borrowed, borrowed{at: len(b.records), data: m.Data})
	} else {
		copy(header[messageOverhead:], m.Data)
	}
	b.size += size
	b.messages++
	b.start = min(b.start, m.LogTimeNanos)
	b.end = max(b.end, m.LogTimeNanos)
}

// room is how much memory to ask for when size bytes do not fit: a whole chunk at once, unless chunks are so large
// that most of it may never be needed.
func (b *chunkBuilder) room(size int) int {
	const atOnce = 4 << 20
	if len(b.records) == 0 {
		return max(size, min(b.limit, atOnce))
	}
	return size
}

// parts appends the records as they stand in the file, in pieces.
func (b *chunkBuilder) parts(parts [][]byte) [][]byte {
	at := 0
	for _, p := range b.borrowed {
		parts = append(parts, b.records[at:p.at], p.data)
		at = p.at
	}
	if at < len(b.records) {
		parts = append(parts, b.records[at:])
	}
	return parts
}

func (b *chunkBuilder) crc() uint32 {
	var crc uint32
	at := 0
	for _, p := range b.borrowed {
		crc = crc32.Update(crc, crc32.IEEETable, b.records[at:p.at])
		crc = crc32.Update(crc, crc32.IEEETable, p.data)
		at = p.at
	}
	return crc32.Update(crc, crc32.IEEETable, b.records[at:])
}

// index makes the message index records of the chunk in the memory of out: one for each channel, in order of its first
// message (MCAP specification, Message Index).
func (b *chunkBuilder) index(out []byte) []byte {
	out = slices.Grow(out[:0], len(b.used)*indexHeaderLen+int(b.messages)*indexEntryLen)
	for _, id := range b.used {
		topic := &b.topics[id]
		length := topic.messages * indexEntryLen
		out = append(out, byte(mcaplib.OpMessageIndex))
		out = binary.LittleEndian.AppendUint64(out, uint64(2+4+length))
		out = binary.LittleEndian.AppendUint16(out, topic.channel)
		out = binary.LittleEndian.AppendUint32(out, uint32(length))
		b.at[topic.channel] = len(out)
		out = out[:len(out)+length]
	}
	offset := uint64(0) // in the chunk; at is without the borrowed payloads
	rest := b.borrowed
	for at := 0; at < len(b.records); {
		header := b.records[at : at+messageOverhead]
		entry := &b.at[binary.LittleEndian.Uint16(header[9:])]
		copy(out[*entry:*entry+8], header[15:])
		binary.LittleEndian.PutUint64(out[*entry+8:], offset)
		*entry += indexEntryLen
		length := recordHeaderLen + binary.LittleEndian.Uint64(header[1:])
		offset += length
		at += messageOverhead
		if len(rest) > 0 && rest[0].at == at {
			rest = rest[1:]
		} else {
			at += int(length) - messageOverhead
		}
	}
	return out
}

func (b *chunkBuilder) reset() {
	// One message larger than a chunk does not keep its memory.
	if cap(b.records) > 2*max(b.limit, sinkBuffer) {
		b.records = nil
	}
	b.records = b.records[:0]
	clear(b.borrowed)
	b.borrowed = b.borrowed[:0]
	b.size = 0
	for _, topic := range b.used {
		b.topics[topic].messages, b.topics[topic].payload = 0, 0
	}
	b.used = b.used[:0]
	b.messages = 0
	b.start, b.end = math.MaxInt64, 0
}
