package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
)

// maxChunkSize bounds the key chunkSize. A chunk is cut a little earlier, because readers refuse larger ones.
const maxChunkSize = 1 << 31

// apply sets what a storage config file says: a flat YAML map with rosbag2's keys. The Options stay as they were when
// it returns an error, which names file, line and key.
func (o *Options) apply(config storage.Config) error {
	if config.Path == "" && len(config.Data) == 0 {
		return nil
	}
	root, err := configMap(config)
	if err != nil {
		return err
	}
	applied := *o
	keys := applied.configKeys()
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		fail := func(err error) error {
			return fmt.Errorf("storage config %s:%d: %s: %w", config.Path, key.Line, storage.Printable(key.Value), err)
		}
		set, ok := keys[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			return fail(unknownKey(key.Value, keys))
		}
		if line, ok := seen[key.Value]; ok {
			return fail(fmt.Errorf("given twice, first in line %d", line))
		}
		seen[key.Value] = key.Line
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || value.Value == "" {
			return fail(errors.New("needs a value"))
		}
		if err := set(value); err != nil {
			return fail(err)
		}
	}
	*o = applied
	return nil
}

// configMap parses the file down to its map; a file without anything but comments gives an empty one.
func configMap(config storage.Config) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(config.Data))
	var document yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, fmt.Errorf("storage config %s: %s", config.Path, storage.Printable(err.Error()))
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("storage config %s:%d: not a map of keys and values", config.Path, root.Line)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("storage config %s: more than one YAML document", config.Path)
	}
	return root, nil
}

func unknownKey[T any](key string, keys map[string]T) error {
	known := slices.Sorted(maps.Keys(keys))
	for _, name := range known {
		if strings.EqualFold(name, key) {
			return fmt.Errorf("unknown key, did you mean %s?", name)
		}
	}
	return fmt.Errorf("unknown key (known: %s)", strings.Join(known, ", "))
}

// configKeys are the keys of rosbag2's MCAP storage config and what each of them sets.
func (o *Options) configKeys() map[string]func(*yaml.Node) error {
	return map[string]func(*yaml.Node) error{
		"noChunkCRC":         setBool(&o.NoChunkCRC),
		"noAttachmentCRC":    setBool(&o.NoAttachmentCRC),
		"enableDataCRC":      setBool(&o.EnableDataCRC),
		"noSummaryCRC":       setBool(&o.NoSummaryCRC),
		"noChunking":         setBool(&o.NoChunking),
		"noMessageIndex":     setBool(&o.NoMessageIndex),
		"noSummary":          setBool(&o.NoSummary),
		"chunkSize":          setSize(&o.ChunkSize),
		"compression":        setWord(&o.Compression, compressionWords()),
		"compressionLevel":   setWord(&o.CompressionLevel, levelWords()),
		"forceCompression":   setBool(&o.ForceCompression),
		"noRepeatedSchemas":  setBool(&o.NoRepeatedSchemas),
		"noRepeatedChannels": setBool(&o.NoRepeatedChannels),
		"noAttachmentIndex":  setBool(&o.NoAttachmentIndex),
		"noMetadataIndex":    setBool(&o.NoMetadataIndex),
		"noChunkIndex":       setBool(&o.NoChunkIndex),
		"noStatistics":       setBool(&o.NoStatistics),
		"noSummaryOffsets":   setBool(&o.NoSummaryOffsets),
	}
}

// word is one of the words that a key takes; they are case sensitive.
type word[T any] struct {
	text  string
	value T
}

func compressionWords() []word[Compression] {
	return []word[Compression]{{"None", CompressionNone}, {"Lz4", CompressionLZ4}, {"Zstd", CompressionZstd}}
}

func levelWords() []word[Level] {
	return []word[Level]{
		{"Fastest", LevelFastest},
		{"Fast", LevelFast},
		{"Default", LevelDefault},
		{"Slow", LevelSlow},
		{"Slowest", LevelSlowest},
	}
}

func setWord[T any](target *T, words []word[T]) func(*yaml.Node) error {
	return func(value *yaml.Node) error {
		known := make([]string, 0, len(words))
		for _, w := range words {
			if w.text == value.Value {
				*target = w.value
				return nil
			}
			known = append(known, w.text)
		}
		return fmt.Errorf("unknown word %q (known: %s)", value.Value, strings.Join(known, ", "))
	}
}

func setBool(target *bool) func(*yaml.Node) error {
	return func(value *yaml.Node) error {
		if value.Decode(target) != nil {
			return fmt.Errorf("%q is neither true nor false", value.Value)
		}
		return nil
	}
}

func setSize(target *int) func(*yaml.Node) error {
	return func(value *yaml.Node) error {
		var size int64
		if value.ShortTag() != "!!int" || value.Decode(&size) != nil || size < 1 || size > maxChunkSize {
			return fmt.Errorf("%q is no number of bytes from 1 to %d", value.Value, int64(maxChunkSize))
		}
		*target = int(size)
		return nil
	}
}
