//go:build ros

package node

import "C"

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// eventfd is what callbacks of the middleware signal. A goroutine that waits for it blocks no thread: Go's poller does.
type eventfd struct {
	file *os.File
	fd   C.int // for C, until close
}

func newEventfd() (eventfd, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return eventfd{}, fmt.Errorf("create eventfd: %w", err)
	}
	return eventfd{file: os.NewFile(uintptr(fd), "eventfd"), fd: C.int(fd)}, nil
}

// signal does nothing once close was called.
func (e eventfd) signal() {
	// Fails only when the counter is full, and then the reader wakes up anyway.
	_, _ = e.file.Write(binary.NativeEndian.AppendUint64(nil, 1))
}

// wait waits until it is signalled; what was signalled before counts. It fails with os.ErrClosed once close was called.
func (e eventfd) wait() error {
	var counter [8]byte
	_, err := e.file.Read(counter[:])
	return err
}

func (e eventfd) close() error { return e.file.Close() }
