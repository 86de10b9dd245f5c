package mcap

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxVector is how many parts one writev(2) takes (IOV_MAX).
const maxVector = 1024

// writeVector writes all parts one after the other, as a rule with one call of the operating system.
func writeVector(file *os.File, parts [][]byte) (int64, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var written int64
	for len(parts) > 0 {
		var n int
		var writeErr error
		err := conn.Write(func(fd uintptr) bool {
			n, writeErr = unix.Writev(int(fd), parts[:min(len(parts), maxVector)])
			return true
		})
		if err = errors.Join(err, writeErr); err != nil && !errors.Is(err, unix.EINTR) {
			return written, err
		}
		if n <= 0 && err == nil {
			return written, io.ErrShortWrite
		}
		written += int64(max(n, 0))
		parts = rest(parts, n)
	}
	return written, nil
}

// rest is what is left of the parts behind their first n bytes. It changes the slice.
func rest(parts [][]byte, n int) [][]byte {
	for len(parts) > 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n > 0 {
		parts[0] = parts[0][n:]
	}
	return parts
}
