package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// verifier goes through a file once, from its first byte to its last, and compares what it says of itself with what
// stands in it. It holds one chunk, the channels, and 8 bytes for each chunk, attachment and metadata record.
type verifier struct {
	window
	v        storage.Verification
	unpacker *Reader
	finder   *scan // looks for the place behind damage
	end      fileEnd

	*contents
	topics   map[uint16]storage.TopicID // by channel
	byTopic  map[topicKey]storage.TopicID
	schemaAt map[uint16]int64
	repeated map[uint16]bool // channels of the summary

	crc         uint32 // of the file up to here
	chunksAt    []int64
	attachments []int64
	records     []int64 // metadata records
	chunk       verifiedChunk
	bare        uint64 // messages without a chunk
	unindexed   int    // chunks without message indexes
	newest      int64  // log time
	backwards   uint64
	backwardsAt int64
	damaged     bool // something could not be read, so that sums can't be right
}

// fileEnd is what the last bytes tell.
type fileEnd struct {
	known        bool
	footerAt     int64
	footer       mcaplib.Footer
	summaryStart int64 // where the data section has ended at the latest
}

func verify(path string, v storage.Verification) error {
	file, src, err := openSource(path)
	if err != nil {
		return err
	}
	err = verifySource(src, v)
	return errors.Join(err, file.Close())
}

func verifySource(src source, v storage.Verification) error {
	c := verifier{
		window: window{source: src}, v: v, unpacker: &Reader{source: src}, contents: newContents(),
		topics: map[uint16]storage.TopicID{}, byTopic: map[topicKey]storage.TopicID{},
		schemaAt: map[uint16]int64{}, repeated: map[uint16]bool{},
	}
	defer c.unpacker.Close()
	c.finder = &scan{window: window{source: src, step: scanStep}, contents: c.contents, reader: c.unpacker, search: newSearch(src)}
	return c.run()
}

func (c *verifier) tell(severity storage.Severity, at int64, format string, arguments ...any) {
	if severity == storage.Damage {
		c.damaged = true
	}
	c.v.Report(storage.Finding{Severity: severity, Path: c.path, Offset: at, Text: fmt.Sprintf(format, arguments...)})
}

// reason is what an error says without its file and offset, which a Finding has of its own.
func reason(err error) error {
	var corruption *storage.CorruptionError
	if errors.As(err, &corruption) {
		return corruption.Err
	}
	return err
}

func (c *verifier) run() error {
	if c.size == 0 {
		c.tell(storage.Damage, 0, "%v", storage.ErrEmpty)
		return nil
	}
	magic := int64(len(mcaplib.Magic))
	head, err := c.bytes(0, min(c.size, magic))
	if err != nil {
		return err
	}
	if !bytes.Equal(head, mcaplib.Magic) {
		c.tell(storage.Damage, 0, "does not begin with the magic bytes of MCAP")
	}
	c.crc = crc32.ChecksumIEEE(head)
	c.v.Progress(int64(len(head)))
	if c.end, err = c.readEnd(); err != nil {
		return err
	}
	at, whole, err := c.data(min(c.size, magic))
	if err != nil {
		return err
	}
	c.settleChunk()
	c.tellOrder()
	if !whole && !c.end.known {
		c.v.Progress(c.size - at)
		return nil
	}
	return c.summary(at)
}

// readEnd looks at the last bytes, where footer and magic stand in a finished file.
func (c *verifier) readEnd() (fileEnd, error) {
	magic := int64(len(mcaplib.Magic))
	end := fileEnd{footerAt: c.size - footerLen - magic, summaryStart: c.size}
	if end.footerAt < magic {
		return end, nil
	}
	tail, err := c.slice(end.footerAt, footerLen+magic)
	if err != nil {
		return end, err
	}
	if tail[0] != byte(mcaplib.OpFooter) || binary.LittleEndian.Uint64(tail[1:]) != footerBodyLen || !bytes.Equal(tail[footerLen:], mcaplib.Magic) {
		return end, nil
	}
	footer, err := mcaplib.ParseFooter(tail[recordHeaderLen:footerLen])
	if err != nil {
		return end, nil
	}
	end.known, end.footer, end.summaryStart = true, *footer, end.footerAt
	if start := footer.SummaryStart; start > uint64(magic) && start <= uint64(end.footerAt) {
		end.summaryStart = int64(start)
	} else if start != 0 {
		c.tell(storage.Fault, end.footerAt, "footer: the summary can not begin at byte %d", start)
		end.footer.SummaryStart = 0
	}
	return end, nil
}

// data goes through the data section and gives the place behind it; whole says that its end was met.
func (c *verifier) data(at int64) (int64, bool, error) {
	first := true
	for at < c.end.summaryStart {
		rec, err := c.record(at, c.end.summaryStart)
		var body []byte
		if err == nil && rec.op != mcaplib.OpAttachment {
			body, err = c.body(rec)
		}
		if err == nil && first && rec.op != mcaplib.OpHeader {
			c.tell(storage.Fault, at, "the first record is no header")
		}
		first = false
		if err == nil {
			err = c.finder.prove(rec)
		}
		if err == nil {
			c.sum(rec, body)
			err = c.takeData(rec, body)
		}
		if err != nil {
			if !storage.IsCorruption(err) {
				return at, false, err
			}
			next, found, err := c.behindDamage(at, reason(err))
			if err != nil || !found {
				return at, false, err
			}
			at = next
			continue
		}
		if rec.op == mcaplib.OpFooter {
			c.tell(storage.Fault, at, "the data section ends without a data end record")
			return at, true, nil
		}
		c.v.Progress(rec.end() - at)
		at = rec.end()
		if rec.op == mcaplib.OpDataEnd {
			return at, true, nil
		}
	}
	if c.end.known {
		c.tell(storage.Fault, at, "the data section ends without a data end record")
		return at, true, nil
	}
	if at >= c.size {
		c.tell(storage.Damage, at, "unfinished: the file ends here, without data end, summary and footer; %d messages before", c.total.messages)
	}
	return at, false, nil
}

// behindDamage finds out where the file can be read again: at the next chunk that the summary knows, or where the
// Reader finds the records to go on.
func (c *verifier) behindDamage(at int64, why error) (int64, bool, error) {
	c.settleChunk()
	next, chunks := c.end.summaryStart, 0
	if c.end.known {
		err := c.chunkIndexes(func(_ record, index indexedChunk) error {
			chunks++
			if start := int64(index.offset); index.offset < uint64(next) && start > at {
				next = start
			}
			return nil
		})
		if err != nil && !storage.IsCorruption(err) {
			return at, false, err
		}
	}
	if chunks == 0 {
		if head, err := c.bytes(at, 1); err == nil && mcaplib.OpCode(head[0]) == mcaplib.OpChunk {
			c.finder.chunked = true
		}
		found, err := c.finder.find(at + 1)
		if err != nil {
			return at, false, err
		}
		next = min(found, next)
	}
	if next >= c.size {
		c.tell(storage.Damage, at, "unfinished or cut off: %v; %d messages before, %d bytes from here on are of no use",
			why, c.total.messages, c.size-at)
		return at, false, nil
	}
	c.tell(storage.Damage, at, "%v; %d bytes can not be read", why, next-at)
	c.v.Progress(next - at)
	return next, true, nil
}

// sum adds a record to the checksum of the data section, which leaves its own end out.
func (c *verifier) sum(rec record, body []byte) {
	if rec.op == mcaplib.OpDataEnd || rec.op == mcaplib.OpAttachment {
		return
	}
	c.sumHead(rec)
	c.crc = crc32.Update(c.crc, crc32.IEEETable, body)
}

func (c *verifier) sumHead(rec record) {
	var head [recordHeaderLen]byte
	head[0] = byte(rec.op)
	binary.LittleEndian.PutUint64(head[1:], uint64(rec.length))
	c.crc = crc32.Update(c.crc, crc32.IEEETable, head[:])
}

func (c *verifier) takeData(rec record, body []byte) error {
	if rec.op != mcaplib.OpMessageIndex {
		c.settleChunk()
	}
	switch rec.op {
	case mcaplib.OpHeader:
		if err := c.finder.takeHeader(rec); err != nil {
			return err
		}
		return c.takeHeader(rec, body)
	case mcaplib.OpSchema, mcaplib.OpChannel:
		return c.takeDescription(rec.op, body, rec.offset)
	case mcaplib.OpMessage:
		if len(body) < messageHeaderLen {
			return c.corrupt(rec.offset, errNoRecord)
		}
		m := parseMessage(body)
		c.bare++
		c.total.add(1, m.log, m.log)
		c.takeMessage(m, rec.offset)
	case mcaplib.OpChunk:
		c.finder.chunked = true
		c.takeChunk(rec, body)
	case mcaplib.OpMessageIndex:
		c.finder.chunked = true
		c.takeIndex(rec, body)
	case mcaplib.OpAttachment:
		return c.takeAttachment(rec)
	case mcaplib.OpMetadata:
		if err := c.takeMetadata(body); err != nil {
			return c.corrupt(rec.offset, err)
		}
		c.records = append(c.records, rec.offset)
	case mcaplib.OpDataEnd:
		fields := cursor{rest: body}
		crc := fields.uint32()
		if fields.err != nil {
			return c.corrupt(rec.offset, fields.err)
		}
		if crc != 0 && crc != c.crc && !c.damaged {
			c.tell(storage.Damage, rec.offset, "data end: %v that of the data section", errChecksum)
		}
	case mcaplib.OpFooter:
	default:
		c.tell(storage.Notice, rec.offset, "record of type 0x%02x does not belong into the data section", byte(rec.op))
	}
	return nil
}

func (c *verifier) takeHeader(rec record, body []byte) error {
	header, err := mcaplib.ParseHeader(body)
	if err != nil {
		return c.corrupt(rec.offset, err)
	}
	if header.Profile != "ros2" {
		c.tell(storage.Notice, rec.offset, "profile is %q, not \"ros2\"", header.Profile)
	}
	return nil
}

// takeDescription takes a schema or a channel. Records within a chunk have the chunk's place.
func (c *verifier) takeDescription(op mcaplib.OpCode, body []byte, at int64) error {
	if op == mcaplib.OpSchema {
		schema, err := mcaplib.ParseSchema(body)
		if err != nil {
			return c.corrupt(at, err)
		}
		known, ok := c.schemas[schema.ID]
		switch {
		case schema.ID == 0:
			c.tell(storage.Fault, at, "schema %s has the id 0, which is no id", storage.Printable(schema.Name))
		case !ok:
			c.schemas[schema.ID], c.schemaAt[schema.ID] = schema, at
		case !sameSchema(known, schema):
			c.tell(storage.Fault, at, "schema %d is another one than at byte %d", schema.ID, c.schemaAt[schema.ID])
		}
		return nil
	}
	channel, err := mcaplib.ParseChannel(body)
	if err != nil {
		return c.corrupt(at, err)
	}
	if known, ok := c.channels[channel.ID]; ok {
		if !sameChannel(known, channel) {
			c.tell(storage.Fault, at, "channel %d of topic %s is another one than before, that of topic %s",
				channel.ID, storage.Printable(channel.Topic), storage.Printable(known.Topic))
		}
		return nil
	}
	c.channels[channel.ID] = channel
	c.order = append(c.order, channel.ID)
	if _, ok := c.schemas[channel.SchemaID]; !ok {
		if channel.SchemaID == 0 {
			c.tell(storage.Fault, at, "channel %d of topic %s has no schema, so its type is not known", channel.ID, storage.Printable(channel.Topic))
		} else {
			c.tell(storage.Fault, at, "channel %d of topic %s names schema %d, which does not stand before it",
				channel.ID, storage.Printable(channel.Topic), channel.SchemaID)
		}
	}
	if _, err := qos.DecodeText(channel.Metadata[qosKey]); err != nil {
		c.tell(storage.Fault, at, "topic %s: offered_qos_profiles can not be understood: %v", storage.Printable(channel.Topic), err)
	}
	topic := c.topic(channel)
	key := topicKey{topic.Name, topic.Type, topic.SerializationFormat}
	id, ok := c.byTopic[key]
	if !ok {
		id = storage.TopicID(len(c.byTopic))
		c.byTopic[key] = id
		definition, ok := c.schemaAt[channel.SchemaID]
		if !ok {
			definition = at
		}
		c.v.Topic(topic, at, definition)
	}
	c.topics[channel.ID] = id
	return nil
}

func sameSchema(a, b *mcaplib.Schema) bool {
	return a.Name == b.Name && a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
}

// sameChannel leaves the metadata out: offers may have come later.
func sameChannel(a, b *mcaplib.Channel) bool {
	return a.Topic == b.Topic && a.SchemaID == b.SchemaID && a.MessageEncoding == b.MessageEncoding
}

func (c *verifier) takeMessage(m messageAt, at int64) {
	c.counts[m.channel]++
	if m.log < c.newest {
		if c.backwards == 0 {
			c.backwardsAt = at
		}
		c.backwards++
	}
	c.newest = max(c.newest, m.log)
	id, ok := c.topics[m.channel]
	if !ok {
		if c.counts[m.channel] == 1 {
			c.tell(storage.Damage, at, "message of channel %d, which is not described before it", m.channel)
		}
		return
	}
	c.v.Message(storage.Message{
		Topic: id, Sequence: m.sequence, LogTimeNanos: m.log, PublishTimeNanos: m.pub, Data: m.data,
	}, at)
}

func (c *verifier) tellOrder() {
	if c.backwards > 0 {
		c.tell(storage.Notice, c.backwardsAt, "%d messages stand behind a later one, from here on", c.backwards)
	}
	if c.bare > 0 {
		c.tell(storage.Notice, -1, "%d messages are in no chunk: reading by time means going through all of them", c.bare)
	}
	if c.unindexed > 0 {
		c.tell(storage.Notice, -1, "%d chunks have no message indexes", c.unindexed)
	}
}

// takeAttachment checks an attachment piece by piece: it may be larger than memory.
func (c *verifier) takeAttachment(rec record) error {
	const fixed = 8 + 8 + 4 + 4 + 8 + 4 // times, lengths of two texts, of the data, checksum
	if rec.length < fixed {
		return c.corrupt(rec.offset, errNoRecord)
	}
	c.sumHead(rec)
	crc := uint32(0)
	for at, until := rec.body(), rec.end()-4; at < until; {
		piece, err := c.bytes(at, min(windowLen, until-at))
		if err != nil {
			return err
		}
		crc = crc32.Update(crc, crc32.IEEETable, piece)
		c.crc = crc32.Update(c.crc, crc32.IEEETable, piece)
		at += int64(len(piece))
	}
	tail, err := c.bytes(rec.end()-4, 4)
	if err != nil {
		return err
	}
	c.crc = crc32.Update(c.crc, crc32.IEEETable, tail)
	stored := binary.LittleEndian.Uint32(tail)
	attachment, err := readAttachmentHead(c.source, rec)
	if err != nil {
		return err
	}
	if stored != 0 && stored != crc {
		c.tell(storage.Damage, rec.offset, "attachment %q: %v", attachment.name, errChecksum)
	}
	c.attachments = append(c.attachments, rec.offset)
	return nil
}
