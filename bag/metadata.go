package bag

import (
	"time"

	"rosbagd/storage"
)

// MetadataVersion is the newest version that is written.
const MetadataVersion = 9

// MetadataName is the name of the file in the bag directory.
const MetadataName = "metadata.yaml"

// The words of Metadata.CompressionMode; empty is none.
const (
	CompressionFile    = "FILE"
	CompressionMessage = "MESSAGE"
)

// CompressionZstd is the word of Metadata.CompressionFormat that rosbag2 knows. All compressed bags that are read have it.
const CompressionZstd = "zstd"

// Metadata is the content of metadata.yaml. Of a topic only what metadata.yaml keeps is set: no Definition.
type Metadata struct {
	Version           int
	StorageID         string
	StartNanos        int64 // log time of the first message; 0 when there is none
	Duration          time.Duration
	MessageCount      uint64
	Topics            []storage.TopicInfo
	CompressionFormat string
	CompressionMode   string   // upper case, "NONE" is ""
	Paths             []string // as written; relative to the bag directory from version 4 on
	Files             []FileInfo
	CustomData        map[string]string
	ROSDistro         string
}

// FileInfo is one file of a bag.
type FileInfo struct {
	Path         string
	StartNanos   int64 // 0 when there is no message
	Duration     time.Duration
	MessageCount uint64
}

// EndNanos is the log time of the last message.
func (f FileInfo) EndNanos() int64 { return f.StartNanos + int64(f.Duration) }

func fileInfo(path string, info storage.Info) FileInfo {
	return FileInfo{
		Path: path, StartNanos: info.StartNanos, Duration: time.Duration(info.EndNanos - info.StartNanos),
		MessageCount: info.MessageCount,
	}
}

// topic finds a topic by its name and type; nil when it is not listed.
func (m *Metadata) topic(name, typ string) *storage.TopicInfo {
	for i := range m.Topics {
		if topic := &m.Topics[i]; topic.Name == name && topic.Type == typ {
			return topic
		}
	}
	return nil
}

// summarize sets start, duration and count of the whole from the files. Files may overlap and be empty.
func (m *Metadata) summarize() {
	m.StartNanos, m.Duration, m.MessageCount = 0, 0, 0
	var end int64
	for _, file := range m.Files {
		if file.MessageCount == 0 {
			continue
		}
		if m.MessageCount == 0 || file.StartNanos < m.StartNanos {
			m.StartNanos = file.StartNanos
		}
		end = max(end, file.EndNanos())
		m.MessageCount += file.MessageCount
	}
	if m.MessageCount > 0 {
		m.Duration = time.Duration(end - m.StartNanos)
	}
}
