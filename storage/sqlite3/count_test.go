package sqlite3

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// splitFile is a file of a split bag: the metadata in it tells of other files, too.
func splitFile(t testing.TB, metadata string) ([]byte, []storage.Message) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b", "/c"} {
		_, err = w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	messages := storagetest.Messages(3000, 0, 1, 1)
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal([]byte(metadata)))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	return file, messages
}

func large(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := newReader(&database{path: "x.db3", file: bytes.NewReader(file), size: int64(len(file))}, 0)
	require.NoError(t, err)
	return r
}

func byTopic(info storage.Info) []uint64 {
	var result []uint64
	for _, topic := range info.Topics {
		result = append(result, topic.MessageCount)
	}
	return result
}

// A file that this program closed tells its own counts, whatever the bag's metadata in it tell of others.
func TestClosedFileTellsItsOwnCounts(t *testing.T) {
	const metadata = "version: 9\nmessage_count: 10000\n"
	file, messages := splitFile(t, metadata)
	r := large(t, file)
	require.False(t, r.partial)
	info := r.Outline()
	require.Equal(t, []uint64{1000, 2000, 0}, byTopic(info))
	require.Equal(t, uint64(3000), info.MessageCount)
	require.Equal(t, messages[0].LogTimeNanos, info.StartNanos)
	require.Equal(t, messages[2999].LogTimeNanos, info.EndNanos)
	require.Equal(t, metadata, string(info.Metadata))
}

// Any other file gives an outline at once, and is gone through when its counts are asked for.
func TestCountsThatNothingTells(t *testing.T) {
	file, _ := splitFile(t, "")
	r := large(t, file)
	require.True(t, r.partial)
	outline := r.Outline()
	require.Equal(t, uint64(3000), outline.MessageCount)
	require.Equal(t, []uint64{0, 0, 0}, byTopic(outline))
	info := r.Info()
	require.Equal(t, []uint64{1000, 2000, 0}, byTopic(info))
	require.Positive(t, info.Topics[0].PayloadBytes)
	info.Topics, outline.Topics = nil, nil
	require.Equal(t, outline, info)
}

// What a writer noted is not believed when the file has other messages.
func TestCountsOfAFileThatWasChanged(t *testing.T) {
	file, _ := splitFile(t, "version: 9\n")
	path := filepath.Join(t.TempDir(), "x.db3")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	db := oracle(t, path, "mode=rw")
	_, err := db.Exec("DELETE FROM messages WHERE id IN (1, 2, 3000)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	file, err = os.ReadFile(path)
	require.NoError(t, err)
	r := large(t, file)
	require.True(t, r.partial)
	require.Equal(t, uint64(2997), r.Outline().MessageCount)
	require.Equal(t, []uint64{999, 1998, 0}, byTopic(r.Info()))
	require.NotEmpty(t, verifyAll(t, path))
}

// Damage that counting meets is told, and what is left is counted.
func TestCountingMeetsDamage(t *testing.T) {
	file, messages := splitFile(t, "")
	at := len(file) / 2 / testPage * testPage
	for file[at] != tableLeaf {
		at += testPage
	}
	clear(file[at : at+testPage])
	r := large(t, file)
	require.Empty(t, r.Outline().Damage)
	info := r.Info()
	require.Contains(t, info.Damage, "missing before the last of them")
	require.Less(t, info.MessageCount, uint64(len(messages)))
	require.Equal(t, info.MessageCount, byTopic(info)[0]+byTopic(info)[1])
	require.Len(t, query(t, r, storage.Query{}), int(info.MessageCount))
	require.Equal(t, info, r.Info())
}
