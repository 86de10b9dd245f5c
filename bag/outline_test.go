package bag_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/sqlite3"
	"rosbagd/storage/storagetest"
)

// Databases that do not tell how many messages each topic has are gone through only when one of them has another number
// of messages than metadata.yaml tells. Times that differ, as rosbag2 writes them, are no reason.
func TestCheckFilesCountsWhereNumbersDiffer(t *testing.T) {
	const each, size = 200, 100_000 // more than is gone through when a file is opened
	directory := t.TempDir()
	metadata := bag.Metadata{Version: bag.MetadataVersion, StorageID: "sqlite3"}
	for n := range 2 {
		name := fmt.Sprintf("x_%d.db3", n)
		w, err := sqlite3.Create(filepath.Join(directory, name), storage.CreateOptions{Preset: sqlite3.PresetNone})
		require.NoError(t, err)
		for _, topic := range []string{"/a", "/b"} {
			_, err := w.AddTopic(storagetest.Topic(topic))
			require.NoError(t, err)
		}
		messages := storagetest.Messages(each, 0, 1)
		for i := range messages {
			messages[i].LogTimeNanos += int64(n) * int64(time.Hour)
			messages[i].Data = make([]byte, size)
		}
		require.NoError(t, w.Write(messages))
		info := w.Info()
		require.NoError(t, w.Seal(nil))
		metadata.Paths = append(metadata.Paths, name)
		metadata.Files = append(metadata.Files, bag.FileInfo{
			Path: name, StartNanos: info.StartNanos, Duration: time.Duration(info.EndNanos - info.StartNanos), MessageCount: each,
		})
		metadata.MessageCount += each
	}
	topics := func(a, b uint64) []storage.TopicInfo {
		return []storage.TopicInfo{{Topic: storagetest.Topic("/a"), MessageCount: a}, {Topic: storagetest.Topic("/b"), MessageCount: b}}
	}
	check := func(m bag.Metadata) (bag.Metadata, []string) {
		text, err := m.Encode()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(directory, bag.MetadataName), text, 0o600))
		r, err := bag.Open(directory, bag.ReaderOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		require.True(t, r.CheckFiles())
		return r.Metadata(), r.Notes()
	}
	numbers := func(m bag.Metadata) []uint64 {
		return []uint64{m.MessageCount, m.Topics[0].MessageCount, m.Topics[1].MessageCount}
	}
	end := metadata.Files[1].EndNanos()

	metadata.Topics = topics(150, 250) // not so, which only counting would find
	metadata.Files[0].Duration /= 2
	checked, notes := check(metadata)
	require.Empty(t, notes)
	require.Equal(t, []uint64{2 * each, 150, 250}, numbers(checked))
	require.Equal(t, end, checked.StartNanos+int64(checked.Duration))

	metadata.Files[0].MessageCount += 5
	metadata.MessageCount += 5
	checked, notes = check(metadata)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "has 200 of the 205 messages that metadata.yaml tells")
	require.Equal(t, []uint64{2 * each, each, each}, numbers(checked))
}
