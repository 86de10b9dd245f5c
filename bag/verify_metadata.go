package bag

import (
	"path/filepath"
	"strings"
	"time"

	"rosbagd/storage"
)

// compareOrder tells of files that overlap: rosbag2 plays them one after the other.
func (v *verification) compareOrder() {
	var before *verifiedFile
	for _, f := range v.files {
		if f.messages == 0 {
			continue
		}
		if before != nil && f.start < before.end {
			v.tellf(storage.Notice, f.path, "begins %v before %s ends", time.Duration(before.end-f.start), filepath.Base(before.path))
		}
		before = f
	}
}

// compareMetadata compares what metadata.yaml tells with what the files have.
func (v *verification) compareMetadata() {
	m := v.metadata
	path := filepath.Join(v.path, MetadataName)
	fault := func(format string, arguments ...any) { v.tellf(storage.Fault, path, format, arguments...) }
	found := Metadata{}
	for _, f := range v.files {
		if f.format != "" && m.StorageID != "" && f.format != m.StorageID {
			v.tellf(storage.Fault, f.path, "is of storage %s, metadata.yaml says %s", f.format, m.StorageID)
		}
		info := FileInfo{Path: f.path, StartNanos: f.start, Duration: time.Duration(f.end - f.start), MessageCount: f.messages}
		found.Files = append(found.Files, info)
		v.compareFile(info)
	}
	v.compareCompression()
	found.summarize()
	if m.MessageCount != found.MessageCount {
		fault("message_count: %d, the files have %d", m.MessageCount, found.MessageCount)
	}
	if found.MessageCount > 0 {
		if m.StartNanos != found.StartNanos {
			fault("starting_time: %d ns, the first message is of %d ns", m.StartNanos, found.StartNanos)
		}
		if m.Duration != found.Duration {
			fault("duration: %d ns, that of the messages is %d ns", m.Duration.Nanoseconds(), found.Duration.Nanoseconds())
		}
	}
	v.compareTopics()
}

// compareFile compares an entry of "files", which versions before 5 do not have.
func (v *verification) compareFile(found FileInfo) {
	for _, told := range v.metadata.Files {
		name := strings.TrimSuffix(filepath.Base(told.Path), packedExtension)
		if name != strings.TrimSuffix(filepath.Base(found.Path), packedExtension) {
			continue
		}
		if told.MessageCount != found.MessageCount {
			v.tellf(storage.Fault, found.Path, "metadata.yaml: message_count: %d, the file has %d", told.MessageCount, found.MessageCount)
		}
		if found.MessageCount == 0 {
			return
		}
		if told.StartNanos != found.StartNanos {
			v.tellf(storage.Fault, found.Path, "metadata.yaml: starting_time: %d ns, the first message is of %d ns", told.StartNanos, found.StartNanos)
		} else if told.Duration != found.Duration {
			v.tellf(v.durationSeverity(told, found), found.Path, "metadata.yaml: duration: %d ns, that of the messages is %d ns",
				told.Duration.Nanoseconds(), found.Duration.Nanoseconds())
		}
		return
	}
	if len(v.metadata.Files) > 0 {
		v.tellf(storage.Fault, found.Path, "metadata.yaml: 'files' does not describe it")
	}
}

// durationSeverity: rosbag2 (Jazzy) tells too short a duration of files that are not the last of a split bag.
func (v *verification) durationSeverity(told, found FileInfo) storage.Severity {
	if len(v.files) > 1 && told.Duration < found.Duration {
		return storage.Notice
	}
	return storage.Fault
}

func (v *verification) compareCompression() {
	packed := 0
	for _, f := range v.files {
		if strings.HasSuffix(f.path, packedExtension) {
			packed++
		}
	}
	path := filepath.Join(v.path, MetadataName)
	switch mode := v.metadata.CompressionMode; {
	case mode == CompressionFile && packed < len(v.files):
		v.tellf(storage.Notice, path, "compression_mode: FILE, but %d files are not compressed", len(v.files)-packed)
	case mode != CompressionFile && packed > 0:
		v.tellf(storage.Fault, path, "compression_mode: %q, but %d files are compressed", mode, packed)
	case mode != "" && mode != CompressionFile && mode != CompressionMessage:
		v.tellf(storage.Fault, path, "compression_mode: %q is none that is known", mode)
	}
}

func (v *verification) compareTopics() {
	path := filepath.Join(v.path, MetadataName)
	fault := func(format string, arguments ...any) { v.tellf(storage.Fault, path, format, arguments...) }
	type foundTopic struct {
		topic    storage.Topic
		messages uint64
	}
	found := map[string]*foundTopic{}
	for _, f := range v.files {
		for i, topic := range f.topics {
			if found[topic.Name] == nil {
				found[topic.Name] = &foundTopic{topic: topic.Topic}
			}
			found[topic.Name].messages += f.counts[i]
		}
	}
	listed := map[string]bool{}
	for _, told := range v.metadata.Topics {
		if listed[told.Name] {
			fault("topic %s is listed twice", told.Name)
			continue
		}
		listed[told.Name] = true
		there := found[told.Name]
		switch {
		case there == nil && told.MessageCount == 0:
			v.tellf(storage.Notice, path, "topic %s is in no file", told.Name)
			continue
		case there == nil:
			fault("topic %s: message_count: %d, but no file has the topic", told.Name, told.MessageCount)
			continue
		}
		if told.Type != there.topic.Type {
			fault("topic %s: type: %s, the files say %s", told.Name, told.Type, there.topic.Type)
		}
		if told.SerializationFormat != there.topic.SerializationFormat {
			fault("topic %s: serialization_format: %s, the files say %s", told.Name, told.SerializationFormat, there.topic.SerializationFormat)
		}
		if told.TypeHash != "" && there.topic.TypeHash != "" && told.TypeHash != there.topic.TypeHash {
			fault("topic %s: type_description_hash: %s, the files say %s", told.Name, told.TypeHash, there.topic.TypeHash)
		}
		if told.MessageCount != there.messages {
			fault("topic %s: message_count: %d, the files have %d", told.Name, told.MessageCount, there.messages)
		}
	}
	for _, f := range v.files {
		for _, topic := range f.topics {
			if !listed[topic.Name] {
				listed[topic.Name] = true
				v.tellf(storage.Fault, f.path, "metadata.yaml does not list topic %s", topic.Name)
			}
		}
	}
}
