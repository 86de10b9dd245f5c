package bag

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const rootKey = "rosbag2_bagfile_information"

// Encode gives the text of metadata.yaml in the newest version, laid out as rosbag2 does.
func (m Metadata) Encode() ([]byte, error) { return m.EncodeVersion(MetadataVersion) }

// EncodeVersion is Encode for one of the versions OldestMetadataVersion to MetadataVersion. What a version has no key
// for is left out.
func (m Metadata) EncodeVersion(version int) ([]byte, error) {
	node, err := m.node(version)
	if err != nil {
		return nil, err
	}
	return encodeNode(fields(rootKey, node))
}

// EncodeInner is Encode without the root key, as storages keep it within a file.
func (m Metadata) EncodeInner() ([]byte, error) { return m.EncodeInnerVersion(MetadataVersion) }

// EncodeInnerVersion is EncodeVersion without the root key.
func (m Metadata) EncodeInnerVersion(version int) ([]byte, error) {
	node, err := m.node(version)
	if err != nil {
		return nil, err
	}
	return encodeNode(node)
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

func (m Metadata) node(version int) (*yaml.Node, error) {
	if version < OldestMetadataVersion || version > MetadataVersion {
		return nil, metadataVersionError(version)
	}
	topics, paths := sequence(), sequence()
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
	for _, path := range m.Paths {
		paths.Content = append(paths.Content, text(path))
	}
	node := fields(
		"version", unsigned(uint64(version)),
		"storage_identifier", text(m.StorageID),
		"duration", durationNode(m.Duration),
		"starting_time", startNode(m.StartNanos, m.MessageCount),
		"message_count", unsigned(m.MessageCount),
		"topics_with_message_count", flowWhenEmpty(topics),
		"compression_format", text(m.CompressionFormat),
		"compression_mode", text(m.CompressionMode),
		"relative_file_paths", flowWhenEmpty(paths),
	)
	if version >= filesVersion {
		extend(node, "files", m.filesNode())
	}
	if version >= customDataVersion {
		extend(node, "custom_data", customNode(m.CustomData))
	}
	if version >= distroVersion {
		extend(node, "ros_distro", text(m.ROSDistro))
	}
	return node, nil
}

func (m Metadata) filesNode() *yaml.Node {
	files := sequence()
	for _, f := range m.Files {
		files.Content = append(files.Content, fields(
			"path", text(f.Path),
			"starting_time", startNode(f.StartNanos, f.MessageCount),
			"duration", durationNode(f.Duration),
			"message_count", unsigned(f.MessageCount),
		))
	}
	return flowWhenEmpty(files)
}

func extend(node *yaml.Node, key string, value *yaml.Node) {
	node.Content = append(node.Content, text(key), value)
}

func startNode(start int64, messages uint64) *yaml.Node {
	if messages == 0 {
		start = math.MaxInt64 // rosbag2's mark of an empty bag
	}
	return fields("nanoseconds_since_epoch", unsigned(uint64(max(start, 0))))
}

func durationNode(d time.Duration) *yaml.Node {
	return fields("nanoseconds", unsigned(uint64(max(d, 0))))
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
	// A block of lines loses what begins or ends with a line break; quotes lose nothing.
	if value == "" || strings.Contains(value, "\n") {
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
