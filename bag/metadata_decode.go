package bag

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// metadataYAML is metadata.yaml of any version. Unknown keys are ignored and every key may be missing.
type metadataYAML struct {
	Version   int          `yaml:"version"`
	Storage   string       `yaml:"storage_identifier"`
	Duration  durationYAML `yaml:"duration"`
	Start     startYAML    `yaml:"starting_time"`
	Messages  numberYAML   `yaml:"message_count"`
	Topics    []topicYAML  `yaml:"topics_with_message_count"`
	Format    string       `yaml:"compression_format"`
	Mode      string       `yaml:"compression_mode"`
	Paths     []string     `yaml:"relative_file_paths"`
	Files     []fileYAML   `yaml:"files"`
	Custom    customYAML   `yaml:"custom_data"`
	ROSDistro string       `yaml:"ros_distro"`
}

type durationYAML struct {
	Nanos numberYAML `yaml:"nanoseconds"`
}

type startYAML struct {
	Nanos numberYAML `yaml:"nanoseconds_since_epoch"`
}

type topicYAML struct {
	Topic struct {
		Name    string    `yaml:"name"`
		Type    string    `yaml:"type"`
		Format  string    `yaml:"serialization_format"`
		Offered yaml.Node `yaml:"offered_qos_profiles"`
		Hash    string    `yaml:"type_description_hash"`
	} `yaml:"topic_metadata"`
	Messages numberYAML `yaml:"message_count"`
}

type fileYAML struct {
	Path     string       `yaml:"path"`
	Start    startYAML    `yaml:"starting_time"`
	Duration durationYAML `yaml:"duration"`
	Messages numberYAML   `yaml:"message_count"`
}

// numberYAML is a number that is never negative. rosbag2 writes signed numbers and reads unsigned ones; a negative one,
// of a clock that went backwards, is taken as 0. What is larger than any is the largest.
type numberYAML uint64

func (n *numberYAML) UnmarshalYAML(node *yaml.Node) error {
	text := node.Value
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" || text == "" {
		if node.Kind == yaml.ScalarNode {
			return nil
		}
		return fmt.Errorf("line %d: a number is expected", node.Line)
	}
	if value, err := strconv.ParseUint(text, 0, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		*n = numberYAML(value)
		return nil
	}
	if _, err := strconv.ParseInt(text, 0, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return fmt.Errorf("line %d: %q is not a whole number", node.Line, text)
}

// customYAML is a map of texts, or null, or (as some tools leave it) an empty list or text.
type customYAML map[string]string

func (c *customYAML) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	*c = customYAML{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: custom data is text", value.Line)
		}
		if value.Tag == "!!null" {
			(*c)[node.Content[i].Value] = ""
			continue
		}
		(*c)[node.Content[i].Value] = value.Value
	}
	return nil
}

// DecodeMetadata reads the metadata of any version, with its root key (metadata.yaml) or without it (the copy within a
// storage). path is only named in errors, which wrap ErrMetadata.
func DecodeMetadata(path string, data []byte) (Metadata, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return Metadata{}, metadataError(path, 1, err.Error())
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return Metadata{}, metadataError(path, 1, "not a map with the key "+rootKey)
	}
	root := document.Content[0]
	inner, ok := child(root, rootKey)
	if !ok {
		if _, ok := child(root, "version"); !ok {
			return Metadata{}, metadataError(path, root.Line, "no key "+rootKey)
		}
		inner = root
	}
	if inner.Kind != yaml.MappingNode {
		return Metadata{}, metadataError(path, inner.Line, rootKey+" is not a map")
	}
	var raw metadataYAML
	if err := inner.Decode(&raw); err != nil {
		return Metadata{}, metadataError(path, inner.Line, err.Error())
	}
	return raw.metadata(path)
}

func child(node *yaml.Node, key string) (*yaml.Node, bool) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1], true
		}
	}
	return nil, false
}

func (raw *metadataYAML) metadata(path string) (Metadata, error) {
	m := Metadata{
		Version: raw.Version, StorageID: raw.Storage, MessageCount: uint64(raw.Messages),
		StartNanos: start(raw.Start, raw.Messages), Duration: duration(raw.Duration),
		CompressionFormat: raw.Format, CompressionMode: strings.ToUpper(raw.Mode), Paths: raw.Paths,
		CustomData: raw.Custom, ROSDistro: raw.ROSDistro,
	}
	if len(m.Paths) == 0 {
		m.Paths = nil
	}
	if len(m.CustomData) == 0 {
		m.CustomData = nil
	}
	if m.CompressionMode == "NONE" {
		m.CompressionMode = ""
	}
	for i := range raw.Topics {
		t := &raw.Topics[i]
		offered, err := qos.Decode(&t.Topic.Offered)
		if err != nil {
			return Metadata{}, metadataError(path, t.Topic.Offered.Line, fmt.Sprintf("topic %s: %v", t.Topic.Name, err))
		}
		m.Topics = append(m.Topics, storage.TopicInfo{
			Topic: storage.Topic{
				Name: t.Topic.Name, Type: t.Topic.Type, SerializationFormat: t.Topic.Format, OfferedQoS: offered,
				TypeHash: t.Topic.Hash,
			},
			MessageCount: uint64(t.Messages),
		})
	}
	for _, f := range raw.Files {
		m.Files = append(m.Files, FileInfo{
			Path: f.Path, StartNanos: start(f.Start, f.Messages), Duration: duration(f.Duration), MessageCount: uint64(f.Messages),
		})
	}
	return m, nil
}

// start takes the mark of an empty bag, the largest int64, as "no message".
func start(raw startYAML, messages numberYAML) int64 {
	if raw.Nanos >= math.MaxInt64 || messages == 0 {
		return 0
	}
	return int64(raw.Nanos)
}

func duration(raw durationYAML) time.Duration { return time.Duration(min(raw.Nanos, math.MaxInt64)) }

// metadataError puts the line in front where the YAML parser keeps it in its text.
func metadataError(path string, line int, reason string) error {
	if found := regexp.MustCompile(`line (\d+): `).FindStringSubmatchIndex(reason); found != nil {
		where := reason[found[2]:found[3]]
		reason = strings.TrimSpace(strings.TrimPrefix(reason[:found[0]], "yaml: ") + reason[found[1]:])
		return fmt.Errorf("%s:%s: %w: %s", path, where, ErrMetadata, strings.Join(strings.Fields(reason), " "))
	}
	return fmt.Errorf("%s:%d: %w: %s", path, max(line, 1), ErrMetadata, strings.Join(strings.Fields(reason), " "))
}
