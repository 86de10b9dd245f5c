package bag

import (
	"errors"
	"os"

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
