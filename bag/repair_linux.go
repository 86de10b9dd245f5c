package bag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// beingWritten tells whether anybody has a file open for writing. Linux gives nobody a lease for reading on such a file
// (fcntl(2), F_SETLEASE). Where leases are not to be had, as on the files of others, it says no.
func beingWritten(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

// roomFor makes sure that a second file of this size fits beside it.
func roomFor(path string) error {
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil {
		return nil // unknown is not full; a full disk ends the writing with the same words
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if need := uint64(stat.Size()); free < need {
		return fmt.Errorf("%w: %d bytes are free, it may take %d", ErrNoSpace, free, need)
	}
	return nil
}
