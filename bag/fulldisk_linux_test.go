package bag_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/bag"
)

// smallDisk mounts a tmpfs of a few megabytes, or where that is not allowed limits the size of files, which fails at
// another place with another error.
func smallDisk(t *testing.T) (directory string, full error) {
	t.Helper()
	directory = t.TempDir()
	err := unix.Mount("tmpfs", directory, "tmpfs", 0, "size=6m")
	if err == nil {
		t.Cleanup(func() { require.NoError(t, unix.Unmount(directory, unix.MNT_DETACH)) })
		return directory, syscall.ENOSPC
	}
	require.True(t, errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES), "%v", err)
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 600 << 10, Max: before.Max}))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before)) })
	return directory, syscall.EFBIG
}

// TestFullDisk fills a real one. The words say so with the path, the Writer stays failed, what was synced is read back,
// and the metadata tell what there is.
func TestFullDisk(t *testing.T) {
	messages := sized(8_000, 3000)
	for i := range messages {
		messages[i].PublishTimeNanos = messages[i].LogTimeNanos // not every storage keeps it
	}
	for _, test := range []struct{ storage, mode string }{
		{"mcap", ""}, {"mcap", "file"}, {"mcap", "message"}, {"sqlite3", ""}, {"sqlite3", "file"}, {"sqlite3", "message"},
	} {
		t.Run(test.storage+" "+test.mode, func(t *testing.T) {
			disk, full := smallDisk(t)
			path := filepath.Join(disk, "demo")
			w := create(t, path, bag.WriterOptions{StorageID: test.storage, CompressionMode: test.mode, MaxSize: 1 << 20})
			done := make(chan error, 1)
			go func() { done <- w.Run(context.Background()) }()
			var err error
			written := 0
			for err == nil {
				require.Less(t, written, len(messages), "the disk is not as small as it should be")
				err = w.Write(messages[written : written+20])
				if err == nil {
					written += 20
				}
			}
			require.ErrorContains(t, err, full.Error())
			require.ErrorContains(t, err, path)
			require.Equal(t, err, w.Write(messages[:1]), "it stays failed")
			require.ErrorContains(t, w.Seal(), full.Error())
			if ran := <-done; ran != nil { // nil when Seal met it first
				require.ErrorContains(t, ran, full.Error())
			}

			counted := w.Counts()[0]
			require.FileExists(t, filepath.Join(path, bag.MetadataName))
			r := open(t, path)
			require.Equal(t, counted, r.Metadata().MessageCount)
			got := read(t, r, bag.Query{})
			require.EqualValues(t, counted, len(got))
			for i := range got {
				require.Equal(t, messages[i], got[i])
			}
			require.LessOrEqual(t, written-len(got), 2000, "no more than what was in memory is lost")
			for _, name := range r.Metadata().Paths {
				require.FileExists(t, filepath.Join(path, name))
			}
			entries, err := os.ReadDir(path)
			require.NoError(t, err)
			for _, entry := range entries {
				require.NotEqual(t, ".tmp", filepath.Ext(entry.Name()))
			}
		})
	}
}

// TestCreateOnAFullDisk leaves nothing.
func TestCreateOnAFullDisk(t *testing.T) {
	disk, full := smallDisk(t)
	if errors.Is(full, syscall.EFBIG) {
		return // only the files are small there
	}
	var err error
	for n := 16 << 20; n > 0; n /= 2 {
		// Fill it to the last page.
		var file *os.File
		file, err = os.OpenFile(filepath.Join(disk, "filler"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, _ = file.Write(make([]byte, n))
		require.NoError(t, file.Close())
	}
	path := filepath.Join(disk, "demo")
	for _, id := range []string{"mcap", "sqlite3"} {
		_, err = bag.Create(path, bag.WriterOptions{StorageID: id})
		require.ErrorContains(t, err, full.Error())
		require.ErrorContains(t, err, path)
		require.NoDirExists(t, path)
	}
}
