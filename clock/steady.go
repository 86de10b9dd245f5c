package clock

import "time"

// Steady is a clock that only goes forward, with the way to wait on it: instants are durations since a zero of its
// own.
type Steady interface {
	Now() time.Duration
	NewWaiter() Waiter
}

// Waiter lets one goroutine wait on its Steady.
type Waiter interface {
	// Wait returns at the instant given, or as soon as Wake was called since the last Wait returned. It may also
	// return early for no reason: the caller looks at the clock.
	Wait(until time.Duration)
	// Wake ends the Wait of now or the next one. It never blocks and may come from any goroutine.
	Wake()
	// Close releases what the waiter holds; neither Wait nor Wake may run then or come after it.
	Close()
}

// timerSteady waits with Go's own timers, which are late by half a millisecond and more.
type timerSteady struct{ zero time.Time }

// TimerSteady is the steady clock on Go's timers: portable, and subject to testing/synctest. SystemSteady is the
// precise one.
func TimerSteady() Steady { return timerSteady{zero: time.Now()} }

func (s timerSteady) Now() time.Duration { return time.Since(s.zero) }

func (s timerSteady) NewWaiter() Waiter {
	return &timerWaiter{steady: s, wake: make(chan struct{}, 1)}
}

type timerWaiter struct {
	steady timerSteady
	wake   chan struct{}
}

func (w *timerWaiter) Wait(until time.Duration) {
	timer := time.NewTimer(until - w.steady.Now())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.wake:
	}
}

func (w *timerWaiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *timerWaiter) Close() {}
