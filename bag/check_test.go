package bag_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// scanned is the metadata that all messages of a bag tell, file by file.
func scanned(t *testing.T, r *bag.Reader) bag.Metadata {
	t.Helper()
	want := r.Metadata()
	want.Files, want.Topics = nil, nil
	counts := map[string]uint64{}
	var first, last int64
	for _, path := range r.Files() {
		one := open(t, path)
		info := bag.FileInfo{Path: strings.TrimSuffix(filepath.Base(path), ".zstd")}
		var end int64
		for _, m := range read(t, one, bag.Query{Query: storage.Query{Order: storage.ByFile}}) {
			counts[one.Topics()[m.Topic].Name]++
			if info.MessageCount == 0 || m.LogTimeNanos < info.StartNanos {
				info.StartNanos = m.LogTimeNanos
			}
			end = max(end, m.LogTimeNanos)
			info.MessageCount++
		}
		if info.MessageCount > 0 {
			info.Duration = time.Duration(end - info.StartNanos)
			if first == 0 || info.StartNanos < first {
				first = info.StartNanos
			}
			last = max(last, end)
		}
		want.Files = append(want.Files, info)
	}
	want.MessageCount = 0
	for _, topic := range r.Metadata().Topics {
		topic.MessageCount = counts[topic.Name]
		want.MessageCount += topic.MessageCount
		want.Topics = append(want.Topics, topic)
	}
	want.StartNanos, want.Duration = first, time.Duration(last-first)
	return want
}

// TestMetadataOfASplitBagEqualsAFullScan: 30 s of messages that are somewhat out of order, split each 5 s.
func TestMetadataOfASplitBagEqualsAFullScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, id := range []string{"mcap", "sqlite3"} {
		for _, mode := range []string{"", bag.CompressionMessage, bag.CompressionFile} {
			t.Run(id+" "+mode, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x")
				w := create(t, path, bag.WriterOptions{
					StorageID: id, MaxDuration: 5 * time.Second, CompressionMode: mode, CompressionFormat: format(mode),
				})
				seal := run(t, w)
				_, err := w.AddTopic(storagetest.Topic("/b"))
				require.NoError(t, err)
				for i := range int64(3000) {
					received := i*10_000_000 + random.Int64N(100_000_000)
					m := at(storage.TopicID(i%3/2), received, received-random.Int64N(50_000_000))
					require.NoError(t, w.Write([]storage.Message{m}))
				}
				seal()
				r := open(t, path)
				require.Greater(t, len(r.Files()), 5)
				told := r.Metadata()
				require.Equal(t, scanned(t, r).Files, told.Files)
				r.CheckFiles()
				require.Empty(t, r.Notes())
				require.Equal(t, told, r.Metadata())
				require.Equal(t, scanned(t, r), r.Metadata())

				// The same when metadata.yaml tells nothing true of the files.
				if mode == bag.CompressionFile {
					return
				}
				name := filepath.Join(path, bag.MetadataName)
				wrong := told
				wrong.Files, wrong.Topics = nil, append([]storage.TopicInfo{}, told.Topics...)
				for i, f := range told.Files {
					wrong.Files = append(wrong.Files, bag.FileInfo{Path: f.Path, StartNanos: f.StartNanos + int64(i), Duration: 1, MessageCount: 1})
				}
				text, err := wrong.Encode()
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(name, text, 0o600))
				r = open(t, path)
				require.Len(t, read(t, r, bag.Query{Query: storage.Query{FromNanos: told.StartNanos + int64(told.Duration)}}), 1)
				r = open(t, path)
				r.CheckFiles()
				require.Len(t, r.Notes(), len(told.Files))
				require.Equal(t, told.Files, r.Metadata().Files)
				require.Equal(t, told.Topics, withoutSizes(r.Metadata().Topics))
				require.Equal(t, told.Duration, r.Metadata().Duration)
			})
		}
	}
}

func format(mode string) string {
	if mode == "" {
		return ""
	}
	return "zstd"
}

func withoutSizes(topics []storage.TopicInfo) []storage.TopicInfo {
	for i := range topics {
		topics[i].PayloadBytes = 0
	}
	return topics
}
