package bag

import (
	"bytes"
	"fmt"
	"strings"

	"rosbagd/msgs/definition"
	"rosbagd/storage"
	"rosbagd/storage/compression"
)

// verifiedFile is what one file has, as it is gone through.
type verifiedFile struct {
	v        *verification
	path     string
	shown    string // path as findings have it
	format   string
	topics   []verifiedTopic
	counts   []uint64 // by topic
	messages uint64
	start    int64
	end      int64
	// decompress unpacks a message; nil when messages are not compressed one by one. Without metadata.yaml the first
	// message tells.
	decompress func(dst, frame []byte) ([]byte, error)
	asked      bool
	buffer     []byte
}

// verifiedTopic is a topic of a file, with the payloads that are none.
type verifiedTopic struct {
	storage.Topic
	bad   uint64
	badAt int64
	why   string
}

// typeSeen is where a topic was met first.
type typeSeen struct{ typ, format, path string }

type definitionKey struct{ typ, encoding, text string }

// topic checks what a file says of a topic.
func (f *verifiedFile) topic(topic storage.Topic, place, definitionPlace int64) {
	f.topics = append(f.topics, verifiedTopic{Topic: topic})
	f.counts = append(f.counts, 0)
	tell := func(severity storage.Severity, at int64, format string, arguments ...any) {
		f.v.tell(storage.Finding{
			Severity: severity, Path: f.shown, Offset: at, Text: fmt.Sprintf("topic %s: ", topic.Name) + fmt.Sprintf(format, arguments...),
		})
	}
	seen, ok := f.v.types[topic.Name]
	switch {
	case !ok:
		f.v.types[topic.Name] = typeSeen{topic.Type, topic.SerializationFormat, f.path}
	case seen.typ != topic.Type:
		tell(storage.Fault, place, "is of type %s here, and of %s in %s", topic.Type, seen.typ, seen.path)
	case seen.format != topic.SerializationFormat:
		tell(storage.Fault, place, "is serialized as %s here, and as %s in %s", topic.SerializationFormat, seen.format, seen.path)
	}
	if topic.SerializationFormat != "cdr" {
		tell(storage.Notice, place, "is serialized as %q, its messages and its definition are not looked into", topic.SerializationFormat)
		return
	}
	d := topic.Definition
	if d.Encoding == "" {
		tell(storage.Notice, definitionPlace, "there is no definition of its type %s", topic.Type)
		return
	}
	key := definitionKey{topic.Type, d.Encoding, d.Text}
	err, known := f.v.definitions[key]
	if !known {
		err = definition.Check(topic.Type, d)
		f.v.definitions[key] = err
		if err != nil {
			tell(storage.Fault, definitionPlace, "the definition of its type %s can not be understood: %v", topic.Type, err)
		}
	}
	if err != nil || topic.TypeHash == "" || d.Encoding != "ros2msg" {
		return
	}
	if described, _, err := definition.Describe(topic.Type, d); err == nil && described.Hash() != topic.TypeHash {
		tell(storage.Fault, definitionPlace, "the definition of its type %s has another hash (%s) than the topic (%s)",
			topic.Type, described.Hash(), topic.TypeHash)
	}
}

// message checks a payload and adds it up.
func (f *verifiedFile) message(m storage.Message, place int64) {
	if f.messages == 0 {
		f.start, f.end = m.LogTimeNanos, m.LogTimeNanos
	}
	f.messages++
	f.counts[m.Topic]++
	f.start, f.end = min(f.start, m.LogTimeNanos), max(f.end, m.LogTimeNanos)
	if !f.asked {
		f.asked = true
		if f.v.metadata == nil && bytes.HasPrefix(m.Data, packedMagic) {
			if codec, err := compression.Lookup(CompressionZstd); err == nil {
				f.decompress = codec.Decompress
			}
		}
	}
	topic := &f.topics[m.Topic]
	why := ""
	if data := m.Data; f.decompress != nil {
		var err error
		if f.buffer, err = f.decompress(f.buffer[:0], data); err != nil {
			why = "can not be decompressed: " + strings.TrimPrefix(err.Error(), "decompress message: ")
		} else {
			why = wrongPayload(topic.SerializationFormat, f.buffer)
		}
		if cap(f.buffer) > 4<<20 {
			f.buffer = nil
		}
	} else {
		why = wrongPayload(topic.SerializationFormat, data)
	}
	if why == "" {
		return
	}
	if topic.bad == 0 {
		topic.badAt, topic.why = place, why
	}
	topic.bad++
}

// wrongPayload says why bytes are no message; empty when they may be one. What stands first is the identifier of the
// encoding (XTypes 1.3, 7.6.3.1.2) and two bytes of options.
func wrongPayload(format string, data []byte) string {
	switch {
	case format != "cdr":
		return ""
	case len(data) < cdrHeaderLen:
		return fmt.Sprintf("has %d bytes, a message has at least %d", len(data), cdrHeaderLen)
	case bytes.HasPrefix(data, packedMagic):
		return "is compressed, which metadata.yaml does not say"
	case data[0] != 0 || data[1] > 0x0b:
		return fmt.Sprintf("begins with %02x %02x, which is no encoding of CDR", data[0], data[1])
	}
	return ""
}

// finish tells of wrong payloads, topic by topic.
func (f *verifiedFile) finish() {
	for _, topic := range f.topics {
		if topic.bad == 0 {
			continue
		}
		text := fmt.Sprintf("topic %s: message %s", topic.Name, topic.why)
		if topic.bad > 1 {
			text += fmt.Sprintf("; %d messages like it", topic.bad)
		}
		f.v.tell(storage.Finding{Severity: storage.Damage, Path: f.shown, Offset: topic.badAt, Text: text})
	}
}
