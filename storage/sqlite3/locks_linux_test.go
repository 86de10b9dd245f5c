package sqlite3

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

func TestAnotherProgramDoesNotRemoveTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	require.NoError(t, w.Flush())
	// Reading in this process opens and closes the files, which loses locks of the wrong kind.
	for range 2 {
		require.Len(t, query(t, open(t, path), storage.Query{}), 10)
		data, err := os.ReadFile(path + indexSuffix)
		require.NoError(t, err)
		require.NotEmpty(t, data)
		_, err = os.ReadFile(path)
		require.NoError(t, err)
	}
	other, err := os.Open(path)
	require.NoError(t, err)
	defer other.Close()
	require.True(t, locked(t, other, sharedFirst, sharedLen))
	index, err := os.OpenFile(path+indexSuffix, os.O_RDWR, 0)
	require.NoError(t, err)
	defer index.Close()
	require.True(t, locked(t, index, deadManByte, 1))
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	require.NoError(t, w.Seal(nil))
	require.NoFileExists(t, path+logSuffix)
	require.Len(t, query(t, open(t, path), storage.Query{}), 20)
}

// locked tells whether somebody else would not get a write lock.
func locked(t testing.TB, file *os.File, start, length int64) bool {
	t.Helper()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: start, Len: length}
	require.NoError(t, unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock))
	runtime.KeepAlive(file)
	return lock.Type != unix.F_UNLCK
}
