package bag_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
	"rosbagd/storage/storagetest"
)

func create(t *testing.T, path string, options bag.WriterOptions) *bag.Writer {
	t.Helper()
	w, err := bag.Create(path, options)
	require.NoError(t, err)
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.Equal(t, storage.TopicID(0), id)
	return w
}

// run starts Run; the function returned seals and waits.
func run(t *testing.T, w *bag.Writer) (seal func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.Run(context.Background()) }()
	return func() {
		require.NoError(t, w.Seal())
		require.NoError(t, <-done)
	}
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parents", "too", "demo")
	w := create(t, path, bag.WriterOptions{
		ROSDistro: "jazzy", CustomData: map[string]string{"robot": "7", "n": "true"},
		StorageConfig: storage.Config{Path: "x", Data: []byte("chunkSize: 100\n")}, // the first message writes the channels
	})
	seal := run(t, w)
	_, err := w.AddTopic(storagetest.Topic("/never"))
	require.NoError(t, err)
	inTime := append(storagetest.Topic("/never").OfferedQoS, qos.Default())
	require.NoError(t, w.UpdateTopic(1, inTime))
	messages := storagetest.Messages(100, 0)
	messages[0], messages[50] = messages[50], messages[0]
	require.NoError(t, w.Write(messages))
	offers := append(storagetest.Topic("/a").OfferedQoS, qos.Default())
	require.NoError(t, w.UpdateTopic(0, offers))
	w.SetCustomData("lost", "0")
	live := w.Metadata()
	seal()
	require.ErrorIs(t, w.Seal(), bag.ErrSealed)
	require.ErrorIs(t, w.Write(messages), bag.ErrSealed)

	r := open(t, path)
	m := r.Metadata()
	require.Equal(t, live, m)
	require.Equal(t, uint64(100), m.MessageCount)
	require.Equal(t, messages[50].LogTimeNanos, m.StartNanos)
	require.Equal(t, 99*time.Millisecond, m.Duration)
	require.Equal(t, []string{"demo_0.mcap"}, m.Paths)
	require.Equal(t, "jazzy", m.ROSDistro)
	require.Equal(t, map[string]string{"robot": "7", "n": "true", "lost": "0"}, m.CustomData)
	require.Equal(t, uint64(0), m.Topics[1].MessageCount)
	require.Equal(t, storagetest.Topic("/a").OfferedQoS, m.Topics[0].OfferedQoS, "metadata.yaml and the file agree")
	require.Equal(t, inTime, m.Topics[1].OfferedQoS)
	messages[0], messages[50] = messages[50], messages[0]
	require.Equal(t, messages, read(t, r, bag.Query{}))
	definition, err := r.Definition(0)
	require.NoError(t, err)
	require.Equal(t, storagetest.Topic("/a").Definition, definition)
	require.Empty(t, r.Notes())
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing temporary stays behind")

	// Whoever looks at the files learns of the publishers that came later.
	require.True(t, r.CheckFiles())
	require.Equal(t, offers, r.Topics()[0].OfferedQoS)
	late := r.Metadata()
	require.Equal(t, offers, late.Topics[0].OfferedQoS)
	require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
	without := open(t, path).Metadata()
	require.Equal(t, late, without)
}

func TestExistingPathStaysAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err := bag.Create(path, bag.WriterOptions{})
	require.ErrorIs(t, err, bag.ErrExists)
	require.ErrorContains(t, err, path)
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = bag.Create(filepath.Join(t.TempDir(), "x"), bag.WriterOptions{StorageID: "sqlite4"})
	require.ErrorIs(t, err, storage.ErrUnknownStorage)
}

func TestSplit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	type split struct {
		closed, opened string
		metadata       bag.Metadata
	}
	splits := make(chan split, 20)
	w := create(t, path, bag.WriterOptions{OnSplit: func(closed, opened string) {
		data, err := os.ReadFile(filepath.Join(path, bag.MetadataName))
		if err != nil {
			return
		}
		metadata, _ := bag.DecodeMetadata(bag.MetadataName, data)
		splits <- split{filepath.Base(closed), filepath.Base(opened), metadata}
	}})
	seal := run(t, w)
	messages := storagetest.Messages(120, 0)
	for i := range 12 {
		require.NoError(t, w.Write(messages[10*i:10*i+10]))
		if i == 11 {
			break
		}
		_, _, err := w.Split()
		require.NoError(t, err)
		if i == 0 {
			s := <-splits
			require.Equal(t, "demo_0.mcap", s.closed)
			require.Equal(t, "demo_1.mcap", s.opened)
			require.Equal(t, []string{"demo_0.mcap"}, s.metadata.Paths)
			require.Equal(t, uint64(10), s.metadata.MessageCount)
			require.Equal(t, uint64(10), s.metadata.Topics[0].MessageCount)
		}
	}
	seal()
	require.Len(t, splits, 10)

	check := func(r *bag.Reader) {
		m := r.Metadata()
		require.Len(t, m.Files, 12)
		require.Equal(t, "demo_10.mcap", m.Paths[10])
		require.Equal(t, messages[100].LogTimeNanos, m.Files[10].StartNanos)
		require.Equal(t, 9*time.Millisecond, m.Files[10].Duration)
		require.Equal(t, uint64(120), m.MessageCount)
		require.Equal(t, uint64(120), m.Topics[0].MessageCount)
		require.Equal(t, 119*time.Millisecond, m.Duration)
		require.Equal(t, messages, read(t, r, bag.Query{}))
		var entered []string
		got := read(t, r, bag.Query{
			Query: storage.Query{FromNanos: messages[25].LogTimeNanos, UntilNanos: messages[31].LogTimeNanos, HasUntil: true},
			OnFile: func(closed, opened string) {
				if closed != "" {
					closed = filepath.Base(closed)
				}
				entered = append(entered, closed+">"+filepath.Base(opened))
			},
		})
		require.Equal(t, messages[25:32], got)
		require.Equal(t, []string{">demo_2.mcap", "demo_2.mcap>demo_3.mcap"}, entered)
	}
	check(open(t, path))
	require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
	check(open(t, path))
}

// TestSplitWithoutRun leaves the closing to Seal.
func TestSplitWithoutRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	_, _, err := w.Split()
	require.NoError(t, err)
	require.NoError(t, w.Seal())
	m := open(t, path).Metadata()
	require.Equal(t, []uint64{10, 0}, []uint64{m.Files[0].MessageCount, m.Files[1].MessageCount})
	require.Equal(t, uint64(10), m.MessageCount)
	require.NotZero(t, m.StartNanos)
}

// TestAgeDecidesWhenMessagesReachTheFile kills nothing: it reads what another process would find.
func TestAgeDecidesWhenMessagesReachTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	synctest.Test(t, func(t *testing.T) {
		w, err := bag.Create(path, bag.WriterOptions{FlushAge: time.Second})
		require.NoError(t, err)
		_, err = w.AddTopic(storagetest.Topic("/a"))
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- w.Run(context.Background()) }()
		messages := storagetest.Messages(3, 0)
		for i, m := range messages {
			require.NoError(t, w.Write([]storage.Message{m}))
			<-time.After(time.Second)
			synctest.Wait()
			r, err := bag.Open(path, bag.ReaderOptions{})
			require.NoError(t, err)
			it, err := r.Messages(bag.Query{})
			require.NoError(t, err)
			require.Equal(t, messages[:i+1], storagetest.All(t, it))
			require.Contains(t, r.Notes()[0], "unfinished")
			require.NoError(t, r.Close())
		}
		require.NoError(t, w.Seal())
		require.NoError(t, <-done)
	})
}

// TestKilledAfterSplits opens a bag whose last file is not in metadata.yaml and not finished.
func TestKilledAfterSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	closed := make(chan string, 1)
	w := create(t, path, bag.WriterOptions{OnSplit: func(string, string) { closed <- "" }})
	seal := run(t, w)
	messages := storagetest.Messages(30, 0)
	for i := range 3 {
		require.NoError(t, w.Write(messages[10*i:10*i+10]))
		_, _, err := w.Split()
		require.NoError(t, err)
		<-closed
	}
	copied := filepath.Join(t.TempDir(), "demo")
	require.NoError(t, os.CopyFS(copied, os.DirFS(path)))
	seal()
	r := open(t, copied)
	require.Equal(t, messages, read(t, r, bag.Query{}))
	require.Len(t, r.Metadata().Files, 4)
	require.Equal(t, uint64(30), r.Metadata().MessageCount)
	require.NotEmpty(t, r.Notes())
}

func TestCancelledRunLeavesTheRestToSeal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, w.Run(ctx))
	require.NoError(t, w.Write(storagetest.Messages(5, 0)))
	require.NoError(t, w.Seal())
	require.Equal(t, uint64(5), open(t, path).Metadata().MessageCount)
}

// TestFailedWriterStaysFailed takes the directory away, so that the next file can not be made.
func TestFailedWriterStaysFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	require.NoError(t, w.Write(storagetest.Messages(5, 0)))
	require.NoError(t, os.Rename(path, path+".gone"))
	_, _, err := w.Split()
	require.ErrorIs(t, err, bag.ErrGone)
	require.ErrorIs(t, w.Write(storagetest.Messages(1, 0)), bag.ErrGone)
	_, err = w.AddTopic(storagetest.Topic("/b"))
	require.ErrorIs(t, err, bag.ErrGone)
	require.ErrorIs(t, w.Seal(), bag.ErrGone)
}

// A directory that takes the bag's place is not the bag: its files stay as they are, and the bag is finished where it is.
func TestMovedDirectoryIsFinishedWhereItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	require.NoError(t, w.Write(storagetest.Messages(5, 0)))
	require.NoError(t, os.Rename(path, path+".moved"))
	require.NoError(t, os.Mkdir(path, 0o700))
	precious := filepath.Join(path, bag.MetadataName)
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	require.NoError(t, w.Seal())
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
	require.Equal(t, uint64(5), open(t, path+".moved").Metadata().MessageCount)
}

// A file that was deleted is noticed while it is written to, not at the end.
func TestDeletedFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{FlushAge: 4 * time.Millisecond, SyncAge: 8 * time.Millisecond})
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, w.Write(storagetest.Messages(5, 0)))
	require.ErrorIs(t, w.Run(t.Context()), bag.ErrGone)
	require.ErrorIs(t, w.Write(storagetest.Messages(1, 0)), bag.ErrGone)
	require.ErrorIs(t, w.Seal(), bag.ErrGone)
}

// A bag that can not be made leaves its name free.
func TestFailedCreateLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	_, err := bag.Create(path, bag.WriterOptions{Preset: "no such preset"})
	require.ErrorContains(t, err, "preset")
	require.NoDirExists(t, path)
}
