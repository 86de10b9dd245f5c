package sqlite3

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeLocked tells whether somebody holds a write lock. A file system that does not know such locks has none.
func writeLocked(file *os.File, start, length int64) bool {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: start, Len: length}
	err := lockCall(file, unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type == unix.F_WRLCK
}

// lockShared takes a read lock that belongs to the open file, not to the process (fcntl(2), F_OFD_SETLK).
func lockShared(file *os.File, start, length int64) error {
	return lockCall(file, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: start, Len: length})
}

func unlock(file *os.File, start, length int64) error {
	return lockCall(file, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK, Start: start, Len: length})
}

func lockCall(file *os.File, command int, lock *unix.Flock_t) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) { lockErr = unix.FcntlFlock(fd, command, lock) })
	return errors.Join(err, lockErr)
}
