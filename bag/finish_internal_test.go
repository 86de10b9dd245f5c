package bag

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// slowSeal is a file whose disk takes as long as the test wants to take its last bytes.
type slowSeal struct {
	storage.Writer
	began   chan<- struct{}
	release <-chan struct{}
}

func (s *slowSeal) Seal(metadata []byte) error {
	s.began <- struct{}{}
	<-s.release
	return s.Writer.Seal(metadata)
}

// TestSealingHoldsUpNothing: while the disk does not let go of the first file, messages go on being written, flushed,
// read back and split; when there are too many files, they go on in the last one. Then everything is there.
func TestSealingHoldsUpNothing(t *testing.T) {
	for _, mode := range []string{"", CompressionFile, CompressionMessage} {
		t.Run(mode, func(t *testing.T) {
			began, release := make(chan struct{}, 100), make(chan struct{})
			on := wrapped(func(w storage.Writer) storage.Writer { return &slowSeal{w, began, release} })
			path := filepath.Join(t.TempDir(), "demo")
			var (
				mu     sync.Mutex
				closed []string
			)
			w, err := createOn(on, path, WriterOptions{CompressionMode: mode, MaxSize: 2000, OnSplit: func(c, _ string) {
				mu.Lock()
				defer mu.Unlock()
				closed = append(closed, filepath.Base(c))
			}})
			require.NoError(t, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			seal := runWriter(w)
			messages := sizedMessages(4000, 50)
			require.NoError(t, w.Write(messages[:1000]))
			<-began // the disk has the first file and keeps it
			require.NoError(t, w.Write(messages[1000:3000]))
			require.Len(t, w.Metadata().Files, maxUnsealed+1, "the last one grows")
			_, _, err = w.Split()
			require.ErrorIs(t, err, ErrBusy)
			require.NoError(t, w.Write(messages[3000:3500]), "being busy is no failure")
			require.NoFileExists(t, filepath.Join(path, MetadataName))
			mu.Lock()
			require.Empty(t, closed)
			mu.Unlock()
			close(release)
			require.NoError(t, w.Write(messages[3500:]))
			require.NoError(t, seal())
			m := w.Metadata()
			require.Equal(t, uint64(4000), m.MessageCount)
			require.Len(t, closed, len(m.Files)-1)
			require.Equal(t, m.Paths[:len(closed)], closed, "told in the order of the files")
			if mode == "" {
				got, _ := readAll(t, path)
				require.Equal(t, messages, got)
			}
		})
	}
}

// failingDirectory lets one kind of operation fail.
type failingDirectory struct {
	directory
	create, rename, sync error
	file                 func(storage.File) storage.File
}

func (d failingDirectory) Create(name string) (storage.File, error) {
	if d.create != nil {
		return nil, d.create
	}
	file, err := d.directory.Create(name)
	if err == nil && d.file != nil {
		file = d.file(file)
	}
	return file, err
}

func (d failingDirectory) Rename(from, to string) error {
	if d.rename != nil {
		return d.rename
	}
	return d.directory.Rename(from, to)
}

func (d failingDirectory) Sync() error {
	if d.sync != nil {
		return d.sync
	}
	return d.directory.Sync()
}

// failingFile fails to write or to sync.
type failingFile struct {
	storage.File
	write, sync error
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.write == nil {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:len(p)/2])
	return n, errors.Join(f.write, err)
}

func (f failingFile) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.File.Sync()
}

var errDisk = errors.New("input/output error of the test")

// TestMetadataThatCanNotBeWrittenIsTold: the bag stays readable, the Writer fails for good, and says where.
func TestMetadataThatCanNotBeWrittenIsTold(t *testing.T) {
	for name, broken := range map[string]failingDirectory{
		"create":    {create: errDisk},
		"write":     {file: func(f storage.File) storage.File { return failingFile{File: f, write: errDisk} }},
		"sync":      {file: func(f storage.File) storage.File { return failingFile{File: f, sync: errDisk} }},
		"rename":    {rename: errDisk},
		"directory": {sync: errDisk},
	} {
		t.Run(name, func(t *testing.T) {
			on := wrapped(func(w storage.Writer) storage.Writer { return w })
			on.open = func(path string) (directory, error) {
				opened, err := openDirectory(path)
				broken.directory = opened
				return broken, err
			}
			path := filepath.Join(t.TempDir(), "demo")
			w, err := createOn(on, path, WriterOptions{})
			require.NoError(t, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			messages := sizedMessages(100, 50)
			require.NoError(t, w.Write(messages[:50]))
			_, _, err = w.Split()
			require.NoError(t, err)
			require.NoError(t, w.Write(messages[50:]))
			err = w.Run(t.Context())
			require.ErrorIs(t, err, errDisk)
			require.ErrorContains(t, err, MetadataName)
			require.ErrorIs(t, w.Write(messages[:1]), errDisk, "it stays failed")
			require.ErrorIs(t, w.Seal(), errDisk)
			got, _ := readAll(t, path)
			require.Equal(t, messages, got)
			require.NoFileExists(t, filepath.Join(path, MetadataName+temporaryExtension))
		})
	}
}

// TestFileThatCanNotBeCompressedStaysAsItIs, and the recording goes on; Seal tells.
func TestFileThatCanNotBeCompressedStaysAsItIs(t *testing.T) {
	fail := true
	failing := func(f storage.File) storage.File {
		if fail {
			return failingFile{File: f, write: errDisk}
		}
		return f
	}
	on := wrapped(func(w storage.Writer) storage.Writer { return w })
	on.open = func(path string) (directory, error) {
		opened, err := openDirectory(path)
		return compressedOnly{failingDirectory{directory: opened, file: failing}}, err
	}
	path := filepath.Join(t.TempDir(), "demo")
	told := make(chan string, 3)
	w, err := createOn(on, path, WriterOptions{CompressionMode: "file", OnSplit: func(closed, _ string) { told <- filepath.Base(closed) }})
	require.NoError(t, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	seal := runWriter(w)
	messages := sizedMessages(100, 50)
	require.NoError(t, w.Write(messages[:50]))
	_, _, err = w.Split()
	require.NoError(t, err)
	require.Equal(t, "demo_0.mcap", <-told)
	fail = false
	require.NoError(t, w.Write(messages[50:]))
	_, _, err = w.Split()
	require.NoError(t, err)
	require.Equal(t, "demo_1.mcap.zstd", <-told)
	err = seal()
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, filepath.Join(path, "demo_0.mcap"))
	m := w.Metadata()
	require.Equal(t, []string{"demo_0.mcap", "demo_1.mcap.zstd", "demo_2.mcap.zstd"}, m.Paths)
	require.Equal(t, uint64(100), m.MessageCount)
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 4, "no half of a file is left")
}

// compressedOnly lets metadata.yaml pass.
type compressedOnly struct{ failingDirectory }

func (d compressedOnly) Create(name string) (storage.File, error) {
	if name == MetadataName+temporaryExtension {
		return d.directory.Create(name)
	}
	return d.failingDirectory.Create(name)
}

// TestFailureOfAFileIsFinal injects a disk that fails under the storage.
func TestFailureOfAFileIsFinal(t *testing.T) {
	for name, broken := range map[string]failingFile{"write": {write: errDisk}, "sync": {sync: errDisk}} {
		t.Run(name, func(t *testing.T) {
			files := &failingFiles{}
			on := ground{lookup: wrapped(func(w storage.Writer) storage.Writer { return w }).lookup, open: openDirectory, files: files}
			path := filepath.Join(t.TempDir(), "demo")
			w, err := createOn(on, path, WriterOptions{})
			require.NoError(t, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			messages := sizedMessages(100, 50)
			require.NoError(t, w.Write(messages[:50]))
			_, _, err = w.Split()
			require.NoError(t, err)
			require.NoError(t, w.Write(messages[50:60]))
			require.NoError(t, w.current.writer.Flush())
			files.breakAll(broken)
			require.NoError(t, w.Write(messages[60:]))
			if name == "write" {
				_, _, err = w.Split()
			} else {
				err = w.Run(t.Context())
			}
			require.ErrorIs(t, err, errDisk)
			require.ErrorContains(t, err, path)
			require.ErrorIs(t, w.Write(messages[:1]), errDisk)
			require.ErrorIs(t, w.Seal(), errDisk)
			got, m := readAll(t, path)
			kept := 100
			if name == "write" {
				kept = 60
			}
			require.Equal(t, messages[:kept], got)
			require.EqualValues(t, kept, m.MessageCount)
			require.FileExists(t, filepath.Join(path, MetadataName))
		})
	}
}

// failingFiles makes files that begin to fail together.
type failingFiles struct {
	storage.OSFiles
	made []*breakableFile
}

type breakableFile struct{ storage.File }

func (f *failingFiles) Create(path string) (storage.File, error) {
	file, err := f.OSFiles.Create(path)
	if err != nil {
		return nil, err
	}
	made := &breakableFile{file}
	f.made = append(f.made, made)
	return made, nil
}

func (f *failingFiles) breakAll(as failingFile) {
	for _, made := range f.made {
		as.File = made.File
		made.File = as
	}
}
