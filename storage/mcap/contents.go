package mcap

import (
	"strings"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// contents is what is known of a file: its channels and where its chunks lie.
type contents struct {
	schemas  map[uint16]*mcaplib.Schema
	channels map[uint16]*mcaplib.Channel
	order    []uint16 // channel ids in the order of the file
	counts   map[uint16]uint64
	total    span
	metadata []byte
	distro   string
	damage   string
	harmless bool // the damage costs no message
	scanned  bool // found by going through the file, since it has no usable summary

	chunks  *chunkList
	located bool // chunks has all messages of the file
	// indexed says that chunks is as the summary tells. Whether there are messages outside of them, in the gaps, is not
	// known until these were looked at. checked says that the summary has a checksum, which is right.
	indexed, checked bool
	gaps             [][2]int64 // from, until

	extras      []extraRef // attachments and metadata records in the order of the file
	extrasKnown bool       // extras has them all
}

func newContents() *contents {
	return &contents{
		schemas: map[uint16]*mcaplib.Schema{}, channels: map[uint16]*mcaplib.Channel{}, counts: map[uint16]uint64{},
		chunks: &chunkList{},
	}
}

// describe takes a schema or channel record. Of records with the same id the first counts.
func (c *contents) describe(op mcaplib.OpCode, body []byte) error {
	switch op {
	case mcaplib.OpSchema:
		schema, err := mcaplib.ParseSchema(body)
		if err != nil {
			return err
		}
		if _, ok := c.schemas[schema.ID]; !ok {
			c.schemas[schema.ID] = schema
		}
	case mcaplib.OpChannel:
		channel, err := mcaplib.ParseChannel(body)
		if err != nil {
			return err
		}
		if _, ok := c.channels[channel.ID]; !ok {
			c.channels[channel.ID] = channel
			c.order = append(c.order, channel.ID)
		}
	}
	return nil
}

// takeMetadata takes a metadata record; of several copies of the bag's metadata the last counts.
func (c *contents) takeMetadata(body []byte) error {
	record, err := mcaplib.ParseMetadata(body)
	if err != nil {
		return err
	}
	if record.Name != metadataRecord {
		return nil
	}
	if text, ok := record.Metadata[metadataKey]; ok {
		c.metadata = []byte(text)
	}
	if distro := record.Metadata[distroKey]; distro != "" {
		c.distro = distro
	}
	return nil
}

// topicKey is what makes two channels one topic.
type topicKey struct{ name, typ, format string }

// unknownEncoding is what rosbag2 writes for a definition that it did not find; some readers refuse such a file.
const unknownEncoding = "unknown"

// info describes the file and says which topic each channel belongs to. Channels that differ only in their schema's
// text or in their metadata are one topic.
func (c *contents) info() (storage.Info, map[uint16]storage.TopicID) {
	info := storage.Info{
		StorageID: ID, MessageCount: c.total.messages, StartNanos: c.total.start, EndNanos: c.total.end,
		Metadata: c.metadata, ROSDistro: c.distro, Damage: c.damage, Harmless: c.harmless,
		Unindexed: c.scanned,
	}
	topics := make(map[uint16]storage.TopicID, len(c.order))
	known := map[topicKey]storage.TopicID{}
	for _, id := range c.order {
		topic := c.topic(c.channels[id])
		k := topicKey{topic.Name, topic.Type, topic.SerializationFormat}
		at, ok := known[k]
		if !ok {
			at = storage.TopicID(len(info.Topics))
			known[k] = at
			info.Topics = append(info.Topics, storage.TopicInfo{Topic: topic})
		}
		topics[id] = at
		info.Topics[at].MessageCount += c.counts[id]
	}
	return info, topics
}

func (c *contents) topic(channel *mcaplib.Channel) storage.Topic {
	topic := storage.Topic{
		Name: channel.Topic, SerializationFormat: channel.MessageEncoding, TypeHash: channel.Metadata[typeHashKey],
	}
	// Files of other programs may have anything here; a bag is not unreadable because of it.
	if offered, err := qos.DecodeText(channel.Metadata[qosKey]); err == nil {
		topic.OfferedQoS = offered
	}
	if schema, ok := c.schemas[channel.SchemaID]; ok {
		topic.Type = schema.Name
		if encoding := schema.Encoding; !strings.EqualFold(encoding, unknownEncoding) {
			topic.Definition = storage.Definition{Encoding: encoding, Text: string(schema.Data)}
		}
	}
	return topic
}
