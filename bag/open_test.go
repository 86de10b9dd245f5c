package bag_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

func TestOpenErrors(t *testing.T) {
	directory := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	inner := "rosbag2_bagfile_information:\n  version: 9\n"
	tests := map[string]struct {
		path    string
		options bag.ReaderOptions
		is      error
		text    string
	}{
		"missing":           {path: "/no/such/bag", is: fs.ErrNotExist, text: "Bag path '/no/such/bag' does not exist!"},
		"empty directory":   {path: t.TempDir(), is: bag.ErrNoBag},
		"empty file":        {path: write("x.mcap", ""), is: storage.ErrEmpty},
		"foreign file":      {path: write("x.txt", "hello"), is: storage.ErrUnknownFormat},
		"cut off sqlite":    {path: write("x.db3", "SQLite format 3\x00"), is: io.ErrUnexpectedEOF, text: "x.db3: damaged at byte 16"},
		"broken yaml":       {path: filepath.Dir(write("a/metadata.yaml", "a:\n  b: [1\nc: 2\n")), is: bag.ErrMetadata, text: "metadata.yaml:"},
		"other yaml":        {path: filepath.Dir(write("b/metadata.yaml", "a: 1\n")), is: bag.ErrMetadata, text: "metadata.yaml:1"},
		"bad number":        {path: filepath.Dir(write("c/metadata.yaml", inner+"  message_count: many\n")), is: bag.ErrMetadata, text: "metadata.yaml:3: "},
		"unknown storage":   {path: filepath.Dir(write("d/metadata.yaml", inner+"  storage_identifier: tape\n")), is: storage.ErrUnknownStorage, text: "known: mcap"},
		"unknown asked for": {path: directory, options: bag.ReaderOptions{StorageID: "tape"}, is: storage.ErrUnknownStorage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bag.Open(test.path, test.options)
			require.ErrorIs(t, err, test.is)
			require.ErrorContains(t, err, test.text)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	name := filepath.Join(path, bag.MetadataName)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(data), from, to)), 0o600))
}

// TestPaths moves bags of several versions around and writes their paths in each way that was in use.
func TestPaths(t *testing.T) {
	tests := map[string]struct{ version, listed, directory string }{
		"relative to the bag":               {"9", "mcap_plain_0.mcap", "mcap_plain"},
		"old, with the directory":           {"3", "mcap_plain/mcap_plain_0.mcap", "mcap_plain"},
		"old, bag renamed":                  {"2", "mcap_plain/mcap_plain_0.mcap", "renamed"},
		"version 4 compressed, either":      {"4", "mcap_plain/mcap_plain_0.mcap", "renamed"},
		"no longer compressed":              {"4", "mcap_plain_0.mcap.zstd", "mcap_plain"},
		"absolute, moved from where it was": {"4", "/no/such/place/mcap_plain_0.mcap", "mcap_plain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.directory)
			require.NoError(t, os.CopyFS(path, os.DirFS(filepath.Join(golden, "mcap_plain"))))
			edit(t, path, "version: 9", "version: "+test.version)
			edit(t, path, "mcap_plain_0.mcap", test.listed)
			r := open(t, path)
			require.Empty(t, r.Notes())
			require.Len(t, read(t, r, bag.Query{}), 465)
		})
	}
}

func TestMissingFileIsToldAndTheOthersRead(t *testing.T) {
	path := copyBag(t, "mcap_split")
	require.NoError(t, os.Remove(filepath.Join(path, "mcap_split_2.mcap")))
	r := open(t, path)
	require.Len(t, r.Notes(), 1)
	it, err := r.Messages(bag.Query{})
	require.NoError(t, err)
	messages, faults := 0, 0
	for {
		_, err := it.Next()
		if err == nil {
			messages++
			continue
		}
		if faults++; faults == 1 {
			require.ErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		break
	}
	require.Equal(t, 467-156, messages)
	require.NoError(t, it.Close())
}

func TestEmptyLastFileDoesNotCostTheOthers(t *testing.T) {
	path := copyBag(t, "mcap_split")
	require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
	require.NoError(t, os.Truncate(filepath.Join(path, "mcap_split_4.mcap"), 0))
	r := open(t, path)
	require.Len(t, read(t, r, bag.Query{}), 464)
	require.Contains(t, r.Notes()[0], "mcap_split_4.mcap")
}

// A file that is shorter than metadata.yaml tells is noticed, and the counts are then those of what is there.
func TestCheckFilesNoticesWhatIsMissing(t *testing.T) {
	whole := filepath.Join("testdata", "rosbag2", "mcap_fastwrite")
	r, err := bag.Open(whole, bag.ReaderOptions{})
	require.NoError(t, err)
	before := r.Metadata()
	r.CheckFiles()
	require.Empty(t, r.Notes())
	require.Equal(t, before, r.Metadata())
	require.NoError(t, r.Close())

	cut := filepath.Join(t.TempDir(), "mcap_fastwrite")
	require.NoError(t, os.CopyFS(cut, os.DirFS(whole)))
	file := filepath.Join(cut, "mcap_fastwrite_0.mcap")
	stat, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, stat.Size()/2))
	r, err = bag.Open(cut, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	r.CheckFiles()
	require.Len(t, r.Notes(), 2)
	require.Contains(t, r.Notes()[1], fmt.Sprintf("of the %d messages that metadata.yaml tells", before.MessageCount))
	require.Less(t, r.Metadata().MessageCount, before.MessageCount)
	require.NotZero(t, r.Metadata().MessageCount)
	var sum uint64
	for _, topic := range r.Topics() {
		sum += topic.MessageCount
	}
	require.Equal(t, r.Metadata().MessageCount, sum)
	var read uint64
	it, err := r.Messages(bag.Query{})
	require.NoError(t, err)
	for {
		_, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		read++
	}
	require.NoError(t, it.Close())
	require.Equal(t, sum, read)
}

func TestOpenAsAnotherStorage(t *testing.T) {
	_, err := bag.Open(filepath.Join("testdata", "rosbag2", "mcap_plain"), bag.ReaderOptions{StorageID: "sqlite3"})
	require.ErrorIs(t, err, bag.ErrOtherStorage)
}

// What is no regular file would block for ever or never end.
func TestOpenOfPipesAndDevices(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.mcap")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := bag.Open(pipe, bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrNotRegular)
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, bag.MetadataName)))
	_, err = bag.Open(dir, bag.ReaderOptions{})
	require.ErrorIs(t, err, storage.ErrNotRegular)
}
