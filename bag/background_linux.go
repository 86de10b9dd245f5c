package bag

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// backgroundNice leaves a thread a tenth of a busy core, so that it still comes to the points at which the runtime
	// waits for all threads: with the least priority the whole process would wait for it.
	backgroundNice = 10
	// From linux/ioprio.h: best effort, the lowest of its eight levels. The idle class could wait for ever.
	ioprioWhoProcess     = 1
	ioprioBestEffortLast = 2<<13 | 7
)

// inBackground runs work on a thread of its own with low priority, for processor and disk, and waits for it.
func inBackground(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with this goroutine: its priority can not be raised again.
		runtime.LockOSThread()
		thread := unix.Gettid()
		// Without the low priority the work is done all the same.
		_ = unix.Setpriority(unix.PRIO_PROCESS, thread, backgroundNice)
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(thread), ioprioBestEffortLast)
		work()
	}()
	<-done
}
