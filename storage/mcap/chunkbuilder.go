package mcap

import (
	"encoding/binary"
	"math"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

const (
	recordHeaderLen  = 1 + 8         // opcode, length
	messageHeaderLen = 2 + 4 + 8 + 8 // channel, sequence, log time, publish time
	messageOverhead  = recordHeaderLen + messageHeaderLen
)

// chunkBuilder gathers the message records of one chunk and where each lies. Its memory is used again for the next
// chunk.
type chunkBuilder struct {
	records  []byte
	indexes  []*mcaplib.MessageIndex // by topic id; nil before a topic's first message
	used     []int                   // topic ids with messages in this chunk, in order of their first one
	payload  []uint64                // by topic id, payload bytes in this chunk
	messages uint64
	start    int64
	end      int64
}

func newChunkBuilder(size int) *chunkBuilder {
	b := &chunkBuilder{records: make([]byte, 0, size)}
	b.reset()
	return b
}

// grow makes room for the next topic.
func (b *chunkBuilder) grow(channel uint16) {
	b.indexes = append(b.indexes, &mcaplib.MessageIndex{ChannelID: channel})
	b.payload = append(b.payload, 0)
}

func (b *chunkBuilder) empty() bool { return len(b.records) == 0 }

// add copies a message, whose topic must be known, to the end of the chunk.
func (b *chunkBuilder) add(m *storage.Message) {
	topic := int(m.Topic)
	index := b.indexes[topic]
	if index.IsEmpty() {
		b.used = append(b.used, topic)
	}
	index.Add(uint64(m.LogTimeNanos), uint64(len(b.records)))
	var header [messageOverhead]byte
	header[0] = byte(mcaplib.OpMessage)
	binary.LittleEndian.PutUint64(header[1:], uint64(messageHeaderLen+len(m.Data)))
	binary.LittleEndian.PutUint16(header[9:], index.ChannelID)
	binary.LittleEndian.PutUint32(header[11:], m.Sequence)
	binary.LittleEndian.PutUint64(header[15:], uint64(m.LogTimeNanos))
	binary.LittleEndian.PutUint64(header[23:], uint64(m.PublishTimeNanos))
	b.records = append(b.records, header[:]...)
	b.records = append(b.records, m.Data...)
	b.payload[topic] += uint64(len(m.Data))
	b.messages++
	b.start = min(b.start, m.LogTimeNanos)
	b.end = max(b.end, m.LogTimeNanos)
}

func (b *chunkBuilder) reset() {
	b.records = b.records[:0]
	for _, topic := range b.used {
		b.indexes[topic].Reset()
		b.payload[topic] = 0
	}
	b.used = b.used[:0]
	b.messages = 0
	b.start, b.end = math.MaxInt64, 0
}
