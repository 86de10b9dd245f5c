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

// topicsByKey says where each of the topics stands first.
func topicsByKey(topics []storage.TopicInfo) map[topicKey]int {
	at := make(map[topicKey]int, len(topics))
	for i, topic := range topics {
		key := topicKey{topic.Name, topic.Type}
		if _, ok := at[key]; !ok {
			at[key] = i
		}
	}
	return at
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
