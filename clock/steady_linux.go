package clock

import (
	"encoding/binary"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is how much later than asked the kernel may wake a precise thread; its own default is 50 us.
const timerSlack = time.Microsecond

// monotonicSteady is CLOCK_MONOTONIC. It is read through Go's own monotonic clock, which is the same clock read
// without a system call; offset lies between the two zeros.
type monotonicSteady struct {
	zero   time.Time
	offset time.Duration
	timer  Steady // for waiters when descriptors have run out
}

// SystemSteady is the most precise steady clock of this system: on Linux CLOCK_MONOTONIC with a timerfd for each
// waiter, which is late by some 70 us on a thread locked with LockThread.
func SystemSteady() Steady {
	steady := monotonicSteady{zero: time.Now(), timer: TimerSteady()}
	// The narrowest of a few looks keeps a preempted one out.
	narrowest := time.Duration(-1)
	for range 8 {
		var ts unix.Timespec
		before := time.Since(steady.zero)
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return steady.timer
		}
		after := time.Since(steady.zero)
		if width := after - before; narrowest < 0 || width < narrowest {
			narrowest = width
			steady.offset = time.Duration(ts.Nano()) - (before + width/2)
		}
	}
	return steady
}

func (s monotonicSteady) Now() time.Duration { return time.Since(s.zero) + s.offset }

// NewWaiter falls back to Go's timers when the process has no descriptor left: late by a millisecond beats not at all.
func (s monotonicSteady) NewWaiter() Waiter {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return s.newTimerWaiter()
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(timer)
		return s.newTimerWaiter()
	}
	return &fdWaiter{steady: s, timer: timer, event: event}
}

// newTimerWaiter gives a waiter on Go's timers that counts from this clock's zero.
func (s monotonicSteady) newTimerWaiter() Waiter {
	return &timerWaiter{steady: timerSteady{zero: s.zero.Add(-s.offset)}, wake: make(chan struct{}, 1)}
}

// fdWaiter sleeps in ppoll on an absolute timer and on an event that Wake raises.
type fdWaiter struct {
	steady monotonicSteady
	timer  int
	event  int
}

func (w *fdWaiter) Wait(until time.Duration) {
	// Zero would disarm the timer; an instant in the past fires at once.
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(until), 1))}
	if err := unix.TimerfdSettime(w.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		time.Sleep(min(until-w.steady.Now(), time.Millisecond)) // never: the arguments are sound
		return
	}
	fds := [2]unix.PollFd{{Fd: int32(w.timer), Events: unix.POLLIN}, {Fd: int32(w.event), Events: unix.POLLIN}}
	for {
		_, err := unix.Ppoll(fds[:], nil, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		break
	}
	if fds[1].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(w.event, count[:]) // takes the wake-up; there is one, and only this goroutine reads
	}
}

func (w *fdWaiter) Wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	for {
		// EAGAIN is a full counter, which wakes as well.
		if _, err := unix.Write(w.event, one[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (w *fdWaiter) Close() {
	_ = unix.Close(w.timer)
	_ = unix.Close(w.event)
}

// LockThread binds the calling goroutine to its thread and makes the thread's timers precise, until the function it
// returns is called by the same goroutine.
func LockThread() (unlock func()) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0); err != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // zero is the thread's default
		runtime.UnlockOSThread()
	}
}
