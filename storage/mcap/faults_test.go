package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// disk makes files that fail as they are told to.
type disk struct {
	storage.OSFiles
	left        int // bytes until it is full; negative is never
	syncFails   int // this call of Sync fails, counted from 1; the next ones claim that all is well
	noTruncate  bool
	noDirectory bool
	syncs       int
	writes      int
}

func (d *disk) Create(path string) (storage.File, error) {
	file, err := d.OSFiles.Create(path)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, disk: d, path: path}, nil
}

func (d *disk) SyncDirectory(path string) error {
	if d.noDirectory {
		return fmt.Errorf("sync directory: %w", &os.PathError{Op: "sync", Path: path, Err: syscall.EIO})
	}
	return d.OSFiles.SyncDirectory(path)
}

type faultyFile struct {
	storage.File
	disk *disk
	path string
}

func (f *faultyFile) Write(p []byte) (int, error) {
	f.disk.writes++
	if f.disk.left < 0 || len(p) <= f.disk.left {
		f.disk.left -= min(len(p), max(f.disk.left, 0))
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:f.disk.left])
	f.disk.left = 0
	return n, errors.Join(err, &os.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC})
}

func (f *faultyFile) Truncate(size int64) error {
	if f.disk.noTruncate {
		return &os.PathError{Op: "truncate", Path: f.path, Err: syscall.EIO}
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	f.disk.syncs++
	if f.disk.syncs == f.disk.syncFails {
		return &os.PathError{Op: "sync", Path: f.path, Err: syscall.EIO}
	}
	return f.File.Sync()
}

// steps writes a file of everything and ends at the first error.
func steps(w *Writer, messages []storage.Message) error {
	for _, name := range []string{"/a", "/b"} {
		if _, err := w.AddTopic(storagetest.Topic(name)); err != nil {
			return err
		}
	}
	half := len(messages) / 2
	for _, step := range []func() error{
		func() error { return w.Write(messages[:half]) },
		w.Flush,
		func() error {
			return w.WriteAttachment(storage.Attachment{Name: "a", Size: 3000, Data: bytes.NewReader(make([]byte, 3000))})
		},
		func() error { return w.WriteRecord(storage.Record{Name: "r", Values: map[string]string{"k": "v"}}) },
		func() error { return w.Write(messages[half:]) },
		w.Sync,
		func() error { return w.Seal([]byte("version: 9\n")) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// TestFullDisk fills the disk at places all over the file, from its head to its footer: what Info counts is readable, the
// file ends with a whole record, and the error is said once for good.
func TestFullDisk(t *testing.T) {
	for name, options := range map[string]Options{
		"chunks":    {ChunkSize: 2000, Metadata: []byte("version: 9\n")},
		"zstd":      {ChunkSize: 2000, Compression: CompressionZstd, ForceCompression: true},
		"no chunks": {NoChunking: true, EnableDataCRC: true},
	} {
		t.Run(name, func(t *testing.T) {
			messages := storagetest.Messages(400, 0, 1)
			messages[100].Data = bytes.Repeat([]byte("large"), 2000) // is borrowed
			whole := 0
			for left := 0; whole == 0; left += 307 {
				path := filepath.Join(t.TempDir(), "x.mcap")
				options.Files = &disk{left: left}
				w, err := Create(path, options)
				if err != nil {
					require.ErrorIs(t, err, syscall.ENOSPC)
					require.Equal(t, 1, strings.Count(err.Error(), path), err)
					require.NoFileExists(t, path)
					continue
				}
				err = steps(w, messages)
				if err == nil {
					whole = left
				} else {
					require.EqualError(t, err, "write "+path+": no space left on device")
					for range 2 {
						require.Equal(t, err, w.Write(messages[:1]))
						require.Equal(t, err, w.Flush())
						require.Equal(t, err, w.Seal(nil))
						require.Equal(t, err, w.WriteRecord(storage.Record{Name: "x"}))
						require.Equal(t, err, w.WriteAttachment(storage.Attachment{Name: "x"}))
					}
				}
				require.NoError(t, w.Close())
				written := w.Info()
				r := openFile(t, path)
				info := r.Info()
				require.Equal(t, written.MessageCount, info.MessageCount)
				require.Equal(t, err == nil, info.Damage == "")
				require.NotContains(t, info.Damage, "of no use")
				if written.MessageCount > 0 {
					require.Equal(t, messages[:written.MessageCount], messagesOf(t, r))
				}
				require.Equal(t, string(written.Metadata), string(info.Metadata))
			}
			require.Greater(t, whole, 15_000)
		})
	}
}

// TestFailedCutSaysBoth: when even the torn end can not be taken off, the error says so, and the file is still read.
func TestFailedCutSaysBoth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Create(path, Options{ChunkSize: 2000, Files: &disk{left: 9000, noTruncate: true}})
	require.NoError(t, err)
	err = steps(w, storagetest.Messages(400, 0, 1))
	require.EqualError(t, err, "write "+path+": no space left on device; cut torn end off: input/output error")
	require.NoError(t, w.Close())
	r := openFile(t, path)
	require.GreaterOrEqual(t, r.Info().MessageCount, w.Info().MessageCount)
	require.Equal(t, storagetest.Messages(int(w.Info().MessageCount), 0, 1), messagesOf(t, r)[:w.Info().MessageCount])
}

// TestFailedSyncIsFinal: what a disk lost is gone even when its next sync succeeds.
func TestFailedSyncIsFinal(t *testing.T) {
	for name, d := range map[string]*disk{
		"file": {left: -1, syncFails: 1}, "directory": {left: -1, noDirectory: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.mcap")
			w, err := Create(path, Options{Files: d})
			require.NoError(t, err)
			id, err := w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			messages := storagetest.Messages(10, id)
			require.NoError(t, w.Write(messages))
			require.NoError(t, w.Flush())
			err = w.Sync()
			require.EqualError(t, err, "sync "+path+": input/output error")
			require.ErrorIs(t, err, syscall.EIO)
			asked := d.syncs
			for range 2 {
				require.Equal(t, err, w.Sync())
				require.Equal(t, err, w.Write(messages))
				require.Equal(t, err, w.Flush())
				require.Equal(t, err, w.Seal(nil))
			}
			_, addErr := w.AddTopic(storagetest.Topic("/b"))
			require.Equal(t, err, addErr)
			require.Equal(t, asked, d.syncs, "never tried again")
			require.NoError(t, w.Close())
			require.Equal(t, messages, messagesOf(t, openFile(t, path)))
		})
	}
}

func TestFailedSyncAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Create(path, Options{Files: &disk{left: -1, syncFails: 2}})
	require.NoError(t, err)
	err = steps(w, storagetest.Messages(400, 0, 1))
	require.EqualError(t, err, "sync "+path+": input/output error")
	require.Equal(t, err, w.Seal(nil))
	require.NoError(t, w.Close())
	require.Len(t, messagesOf(t, openFile(t, path)), 400)
}

// TestCallsOfTheSystem: one write a chunk, nothing for a message, and never a question for the size.
func TestCallsOfTheSystem(t *testing.T) {
	d := &disk{left: -1}
	w, err := Create(filepath.Join(t.TempDir(), "x.mcap"), Options{Files: d})
	require.NoError(t, err)
	defer w.Close()
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Flush()) // the channel
	messages := storagetest.Messages(1000, id)
	before := d.writes
	for range 100 {
		for i := range messages {
			require.NoError(t, w.Write(messages[i:i+1]))
			require.Positive(t, w.Size())
		}
	}
	chunks := int(w.index.chunks)
	require.Greater(t, chunks, 3)
	require.Less(t, chunks, 10)
	require.Equal(t, 3*chunks, d.writes-before, "head, records and index of a chunk, which are one call where the system has it")
}

// broken is data that ends in an error.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

// TestAttachmentsThatFail cost themselves only, with every checksum still right.
func TestAttachmentsThatFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Create(path, Options{EnableDataCRC: true})
	require.NoError(t, err)
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Write(storagetest.Messages(10, id)))
	large := strings.Repeat("x", 200_000)
	gone := errors.New("the network is gone")
	size := w.Size()
	for _, test := range []struct {
		attachment storage.Attachment
		want       string
	}{
		{storage.Attachment{Name: "a", Size: 300_000, Data: broken{strings.NewReader(large), gone}}, `write attachment "a": the network is gone`},
		{storage.Attachment{Name: "a", Size: 200_000, Data: broken{strings.NewReader(large), gone}}, `write attachment "a": the network is gone`},
		{storage.Attachment{Name: "a", Size: 300_000, Data: strings.NewReader(large)}, `write attachment "a": data has another size than was said: 200000 bytes of 300000`},
		{storage.Attachment{Name: "a", Size: 100_000, Data: strings.NewReader(large)}, `write attachment "a": data has another size than was said: there is more`},
		{storage.Attachment{Name: "a", Size: -1}, `write attachment "a": data has another size than was said`},
		{storage.Attachment{Name: "a", LogTimeNanos: -1}, `write attachment "a": time stamp lies before 1970`},
	} {
		require.EqualError(t, w.WriteAttachment(test.attachment), test.want)
		require.Equal(t, size, w.Size())
	}
	require.ErrorIs(t, w.WriteRecord(storage.Record{Name: "rosbag2"}), errOwnRecord)
	require.NoError(t, w.WriteAttachment(storage.Attachment{Name: "b", Size: 200_000, Data: strings.NewReader(large)}))
	require.NoError(t, w.Seal(nil))
	l := lex(t, path)
	require.Equal(t, large, l.attached)
	got := verifyBytes(t, l.data)
	require.Empty(t, got.worst(storage.Notice))
	require.Equal(t, 10, got.messages)
}

// TestAttachmentIsNotHeld writes one that is larger than what memory may grow by.
func TestAttachmentIsNotHeld(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "x.mcap"), Options{Files: nowhere{}})
	require.NoError(t, err)
	defer w.Close()
	const size = 256 << 20
	allocated := testing.AllocsPerRun(1, func() {
		require.NoError(t, w.WriteAttachment(storage.Attachment{Name: "a", Size: size, Data: io.LimitReader(zeros{}, size)}))
	})
	require.Less(t, allocated, 50.0, "allocations")
	require.Greater(t, w.Size(), int64(2*size))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// nowhere makes files that keep nothing.
type nowhere struct{ storage.OSFiles }

func (nowhere) Create(string) (storage.File, error) { return nothing{}, nil }

type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
func (nothing) Truncate(int64) error        { return nil }
func (nothing) Sync() error                 { return nil }
func (nothing) Close() error                { return nil }

// TestFlushSyncAndSizeFromElsewhere is for the race detector.
func TestFlushSyncAndSizeFromElsewhere(t *testing.T) {
	w, path := newWriter(t, Options{ChunkSize: 3000})
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, call := range []func(){
		func() { require.NoError(t, w.Flush()) },
		func() { require.NoError(t, w.Sync()) },
		func() { require.Positive(t, w.Size()); _ = w.Info() },
	} {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					call()
				}
			}
		})
	}
	messages := storagetest.Messages(2000, 0)
	for at := 0; at < len(messages); at += 20 {
		require.NoError(t, w.Write(messages[at:at+20]))
	}
	close(done)
	others.Wait()
	require.NoError(t, w.Seal(nil))
	require.NoError(t, w.Sync(), "what is sealed is synced")
	require.Equal(t, messages, messagesOf(t, openFile(t, path)))
}
