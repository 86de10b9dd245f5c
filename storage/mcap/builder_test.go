package mcap

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// builder makes MCAP files record by record, right ones and wrong ones. It shares no code with what is tested.
type builder struct {
	t     testing.TB
	bytes []byte

	indexes     [][]byte // chunk index records
	described   [][]byte // schema and channel records for the summary
	extras      [][]byte // attachment and metadata index records
	counts      map[uint16]uint64
	first, last uint64
	chunks      uint32
	attachments uint32
	records     uint32
	dataEndCRC  bool
	extra       []byte // bytes added to the end of every record that may have them
}

func build(t testing.TB) *builder {
	b := &builder{t: t, counts: map[uint16]uint64{}, first: math.MaxUint64}
	b.bytes = append(b.bytes, "\x89MCAP0\r\n"...)
	return b.add(record1(0x01, text("ros2"), text("test")))
}

func u16(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func text(s string) []byte { return append(u32(uint32(len(s))), s...) }

func pairs(values ...string) []byte {
	var body []byte
	for _, value := range values {
		body = append(body, text(value)...)
	}
	return append(u32(uint32(len(body))), body...)
}

func record1(op byte, fields ...[]byte) []byte {
	body := bytes.Join(fields, nil)
	return append(append([]byte{op}, u64(uint64(len(body)))...), body...)
}

func (b *builder) add(records ...[]byte) *builder {
	for _, r := range records {
		b.bytes = append(b.bytes, r...)
	}
	return b
}

func (b *builder) at() uint64 { return uint64(len(b.bytes)) }

func schemaRecord(id uint16, name string) []byte {
	return record1(0x03, u16(id), text(name), text("ros2msg"), text("string data\n"))
}

func channelRecord(id, schema uint16, topic string) []byte {
	return record1(0x04, u16(id), u16(schema), text(topic), text("cdr"), pairs("topic_type_hash", ""))
}

// describe writes schemas and channels, and keeps them for the summary.
func (b *builder) describe(records ...[]byte) *builder {
	b.described = append(b.described, records...)
	return b.add(records...)
}

// said is a message of a test.
type said struct {
	channel  uint16
	log, pub uint64
	data     string
}

func (m said) record() []byte {
	return record1(0x05, u16(m.channel), u32(uint32(m.log)), u64(m.log), u64(m.pub), []byte(m.data))
}

func (b *builder) count(messages ...said) {
	for _, m := range messages {
		b.counts[m.channel]++
		b.first, b.last = min(b.first, m.log), max(b.last, m.log)
	}
}

// bare writes messages outside of chunks.
func (b *builder) bare(messages ...said) *builder {
	b.count(messages...)
	for _, m := range messages {
		b.add(m.record())
	}
	return b
}

// chunkKind says how a chunk is written.
type chunkKind struct {
	compression string
	noCRC       bool
	noIndex     bool     // no message indexes
	noMap       bool     // message indexes, but none named in the chunk index
	unlisted    bool     // no chunk index
	inside      [][]byte // records in front of the messages
	behind      [][]byte // and behind
}

func pack(t testing.TB, compression string, records []byte) []byte {
	switch compression {
	case "zstd":
		encoder, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		defer encoder.Close()
		return encoder.EncodeAll(records, nil)
	case "lz4":
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		_, err := w.Write(records)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	return records
}

func chunkRecord(t testing.TB, kind chunkKind, start, end uint64, records []byte) []byte {
	stored := pack(t, kind.compression, records)
	crc := crc32.ChecksumIEEE(records)
	if kind.noCRC {
		crc = 0
	}
	return record1(0x06, u64(start), u64(end), u64(uint64(len(records))), u32(crc), text(kind.compression),
		u64(uint64(len(stored))), stored)
}

func (b *builder) chunk(kind chunkKind, messages ...said) *builder {
	b.count(messages...)
	records := bytes.Join(kind.inside, nil)
	start, end := uint64(math.MaxUint64), uint64(0)
	entries := map[uint16][]byte{}
	var order []uint16
	for _, m := range messages {
		start, end = min(start, m.log), max(end, m.log)
		if entries[m.channel] == nil {
			order = append(order, m.channel)
		}
		entries[m.channel] = append(append(entries[m.channel], u64(m.log)...), u64(uint64(len(records)))...)
		records = append(records, m.record()...)
	}
	records = append(records, bytes.Join(kind.behind, nil)...)
	if len(messages) == 0 {
		start = 0
	}
	at := b.at()
	whole := b.padded(chunkRecord(b.t, kind, start, end, records))
	b.add(whole)
	indexAt := b.at()
	var offsets []byte
	if !kind.noIndex {
		for _, channel := range order {
			if !kind.noMap {
				offsets = append(append(offsets, u16(channel)...), u64(b.at())...)
			}
			b.add(b.padded(record1(0x07, u16(channel), u32(uint32(len(entries[channel]))), entries[channel])))
		}
	}
	b.chunks++
	if !kind.unlisted {
		b.indexes = append(b.indexes, record1(0x08, u64(start), u64(end), u64(at), u64(uint64(len(whole))),
			u32(uint32(len(offsets))), offsets, u64(b.at()-indexAt), text(kind.compression),
			u64(uint64(len(records))), u64(uint64(len(records)))))
	}
	return b
}

// padded adds bytes that a later version of the format may have at the end of a record.
func (b *builder) padded(r []byte) []byte {
	r = append(bytes.Clone(r), b.extra...)
	binary.LittleEndian.PutUint64(r[1:], uint64(len(r)-9))
	return r
}

func (b *builder) metadata(name string, values ...string) *builder {
	at := b.at()
	r := record1(0x0c, text(name), pairs(values...))
	b.records++
	b.extras = append(b.extras, record1(0x0d, u64(at), u64(uint64(len(r))), text(name)))
	return b.add(r)
}

func (b *builder) attachment(name string, data []byte, crc bool) *builder {
	body := bytes.Join([][]byte{u64(5), u64(6), text(name), text("text/plain"), u64(uint64(len(data))), data}, nil)
	sum := uint32(0)
	if crc {
		sum = crc32.ChecksumIEEE(body)
	}
	at := b.at()
	r := record1(0x09, body, u32(sum))
	b.attachments++
	b.extras = append(b.extras, record1(0x0a, u64(at), u64(uint64(len(r))), u64(5), u64(6), u64(uint64(len(data))), text(name), text("text/plain")))
	return b.add(r)
}

// summaryKind says what a summary has.
type summaryKind struct {
	none, noStatistics, noChunkIndex, noChannels, noExtras, noCRC, reversed bool
	unknown                                                                 bool // records of unknown kinds between
}

// end writes the end of the data section, the summary and the footer.
func (b *builder) end(kind summaryKind) []byte {
	crc := uint32(0)
	if b.dataEndCRC {
		crc = crc32.ChecksumIEEE(b.bytes)
	}
	b.add(record1(0x0f, u32(crc)))
	start := b.at()
	if kind.none {
		return b.footer(0, true)
	}
	if !kind.noChannels {
		b.add(b.described...)
	}
	if kind.unknown {
		b.add(record1(0x77, []byte("anything")))
	}
	if !kind.noStatistics {
		var counts []byte
		sum := uint64(0)
		for channel, n := range b.counts {
			counts = append(append(counts, u16(channel)...), u64(n)...)
			sum += n
		}
		first := b.first
		if sum == 0 {
			first = 0
		}
		b.add(b.padded(record1(0x0b, u64(sum), u16(1), u32(uint32(len(b.counts))), u32(b.attachments), u32(b.records), u32(b.chunks),
			u64(first), u64(b.last), u32(uint32(len(counts))), counts)))
	}
	if !kind.noChunkIndex {
		indexes := b.indexes
		if kind.reversed {
			indexes = nil
			for i := len(b.indexes) - 1; i >= 0; i-- {
				indexes = append(indexes, b.indexes[i])
			}
		}
		b.add(indexes...)
	}
	if !kind.noExtras {
		b.add(b.extras...)
	}
	if b.at() == start {
		start = 0
	}
	return b.footer(start, kind.noCRC)
}

func (b *builder) footer(start uint64, noCRC bool) []byte {
	head := append([]byte{0x02}, bytes.Join([][]byte{u64(20), u64(start), u64(0)}, nil)...)
	crc := uint32(0)
	if !noCRC {
		crc = crc32.ChecksumIEEE(append(bytes.Clone(b.bytes[start:]), head...))
	}
	return b.add(head, u32(crc), []byte("\x89MCAP0\r\n")).bytes
}

// fullScan reads a file in the plainest way there is: every record after the other, everything in memory. Channels may
// be described anywhere.
type fullScan struct {
	t        testing.TB
	topics   map[uint16]string
	messages []said
}

func scanPlainly(t testing.TB, data []byte) *fullScan {
	s := &fullScan{t: t, topics: map[uint16]string{}}
	s.records(data[8:], true)
	return s
}

func (s *fullScan) records(rest []byte, top bool) {
	for len(rest) > 9 {
		op, length := rest[0], binary.LittleEndian.Uint64(rest[1:])
		body := rest[9 : 9+length]
		rest = rest[9+length:]
		switch op {
		case 0x04:
			n := binary.LittleEndian.Uint32(body[4:])
			if _, ok := s.topics[binary.LittleEndian.Uint16(body)]; !ok {
				s.topics[binary.LittleEndian.Uint16(body)] = string(body[8 : 8+n])
			}
		case 0x05:
			s.messages = append(s.messages, said{
				channel: binary.LittleEndian.Uint16(body), log: binary.LittleEndian.Uint64(body[6:]),
				pub: binary.LittleEndian.Uint64(body[14:]), data: string(body[22:]),
			})
		case 0x06:
			n := binary.LittleEndian.Uint32(body[28:])
			compression := string(body[32 : 32+n])
			stored := body[40+n : 40+uint64(n)+binary.LittleEndian.Uint64(body[32+n:])]
			s.records(unpackPlainly(s.t, compression, stored), false)
		case 0x02:
			if top {
				return
			}
		}
	}
}

func unpackPlainly(t testing.TB, compression string, stored []byte) []byte {
	var records []byte
	var err error
	switch compression {
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1))
		require.NoError(t, err)
		defer d.Close()
		records, err = io.ReadAll(d)
	case "lz4":
		records, err = io.ReadAll(lz4.NewReader(bytes.NewReader(stored)))
	default:
		records = stored
	}
	require.NoError(t, err)
	return records
}

// given turns what a reader gave into what was said, with the topic's name instead of the channel.
type given struct {
	topic    string
	log, pub uint64
	data     string
}

func givenBy(topics []storage.TopicInfo, messages []storage.Message) []given {
	result := []given{}
	for _, m := range messages {
		result = append(result, given{topics[m.Topic].Name, uint64(m.LogTimeNanos), uint64(m.PublishTimeNanos), string(m.Data)})
	}
	return result
}

func (s *fullScan) given() []given {
	result := []given{}
	for _, m := range s.messages {
		result = append(result, given{s.topics[m.channel], m.log, m.pub, m.data})
	}
	return result
}
