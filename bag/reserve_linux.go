package bag

import (
	"golang.org/x/sys/unix"
)

// reservedSpace is enough for the metadata of some hundred topics and a thousand files.
const reservedSpace = 256 << 10

// reserve keeps some of the disk free until the function that it gives is called, so that on a disk which the recording
// has filled there is room for the metadata. The space belongs to a file without a name: it is free again however the
// process ends. Where a file system has no such files, nothing is kept.
func reserve(directory string) (release func()) {
	file, err := unix.Open(directory, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return func() {}
	}
	// On a disk that is full already nothing can be kept; the recording says what follows from that.
	_ = unix.Fallocate(file, 0, 0, reservedSpace)
	return func() { _ = unix.Close(file) }
}
