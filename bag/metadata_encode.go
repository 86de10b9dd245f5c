package bag

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const rootKey = "rosbag2_bagfile_information"

// Encode gives the text of metadata.yaml in the newest version, laid out as rosbag2 does.
func (m Metadata) Encode() ([]byte, error) { return m.EncodeVersion(MetadataVersion) }

// EncodeVersion is Encode for one of the versions OldestMetadataVersion to MetadataVersion. What a version has no key
// for is left out.
func (m Metadata) EncodeVersion(version int) ([]byte, error) { return m.encode(version, true) }

// EncodeInner is Encode without the root key, as storages keep it within a file.
func (m Metadata) EncodeInner() ([]byte, error) { return m.EncodeInnerVersion(MetadataVersion) }

// EncodeInnerVersion is EncodeVersion without the root key.
func (m Metadata) EncodeInnerVersion(version int) ([]byte, error) { return m.encode(version, false) }

// encode lets the encoder lay out all but the files. A bag may have thousands of these, and its writer tells of them at
// each split.
func (m Metadata) encode(version int, rooted bool) ([]byte, error) {
	if version < OldestMetadataVersion || version > MetadataVersion {
		return nil, metadataVersionError(version)
	}
	indent := ""
	if rooted {
		indent = "  "
	}
	var out bytes.Buffer
	add := func(node *yaml.Node) error {
		if rooted {
			node = fields(rootKey, node)
		}
		data, err := encodeNode(node)
		if err != nil {
			return err
		}
		if rooted && out.Len() > 0 {
			_, data, _ = bytes.Cut(data, []byte("\n")) // the root key stands there already
		}
		out.Write(data)
		out.WriteByte('\n')
		return nil
	}
	if err := add(m.head(version)); err != nil {
		return nil, err
	}
	if err := m.writeFiles(&out, version, indent); err != nil {
		return nil, err
	}
	if version >= customDataVersion {
		if err := add(m.tail(version)); err != nil {
			return nil, err
		}
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// The versions that brought a key.
const (
	filesVersion      = 5
	customDataVersion = 6
	typeHashVersion   = 7
	distroVersion     = 8
)

func metadataVersionError(version int) error {
	return fmt.Errorf("metadata version %d: %w (known for writing: %d to %d)", version, storage.ErrUnsupported,
		OldestMetadataVersion, MetadataVersion)
}

func encodeNode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// head is what stands before the files.
func (m Metadata) head(version int) *yaml.Node {
	topics := sequence()
	for _, t := range m.Topics {
		topic := fields(
			"name", text(t.Name),
			"type", text(t.Type),
			"serialization_format", text(t.SerializationFormat),
			"offered_qos_profiles", qos.Encode(t.OfferedQoS, version),
		)
		if version >= typeHashVersion {
			extend(topic, "type_description_hash", text(t.TypeHash))
		}
		topics.Content = append(topics.Content, fields("topic_metadata", topic, "message_count", unsigned(t.MessageCount)))
	}
	return fields(
		"version", unsigned(uint64(version)),
		"storage_identifier", text(m.StorageID),
		"duration", fields("nanoseconds", unsigned(durationNumber(m.Duration))),
		"starting_time", fields("nanoseconds_since_epoch", unsigned(startNumber(m.StartNanos, m.MessageCount))),
		"message_count", unsigned(m.MessageCount),
		"topics_with_message_count", flowWhenEmpty(topics),
		"compression_format", text(m.CompressionFormat),
		"compression_mode", text(m.CompressionMode),
	)
}

// tail is what stands behind the files.
func (m Metadata) tail(version int) *yaml.Node {
	node := fields("custom_data", customNode(m.CustomData))
	if version >= distroVersion {
		extend(node, "ros_distro", text(m.ROSDistro))
	}
	return node
}

func extend(node *yaml.Node, key string, value *yaml.Node) {
	node.Content = append(node.Content, text(key), value)
}

func customNode(data map[string]string) *yaml.Node {
	if len(data) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "~"}
	}
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		node.Content = append(node.Content, text(key), text(data[key]))
	}
	return node
}

// text lets the encoder decide on quotes, so that a string never becomes a number or a boolean.
func text(value string) *yaml.Node {
	var node yaml.Node
	node.SetString(value)
	// A block of lines loses what begins or ends with a line break; quotes lose nothing. YAML knows five line breaks, and takes << for an order to merge.
	if value == "" || value == "<<" || strings.ContainsAny(value, "\n\r\u0085\u2028\u2029") {
		node.Style = yaml.DoubleQuotedStyle
	}
	return &node
}

func unsigned(value uint64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatUint(value, 10)}
}

func sequence() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode} }

func flowWhenEmpty(node *yaml.Node) *yaml.Node {
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle
	}
	return node
}

// fields takes keys (string) and values (*yaml.Node) in turn.
func fields(pairs ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, item := range pairs {
		switch v := item.(type) {
		case string:
			node.Content = append(node.Content, text(v))
		case *yaml.Node:
			node.Content = append(node.Content, v)
		}
	}
	return node
}
