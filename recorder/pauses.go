package recorder

import "sync/atomic"

// keptChanges bounds how far back a pause is known: messages are judged within milliseconds of their arrival.
const keptChanges = 64

// pauses knows when pauses began and ended. A message belongs to a pause by the time at which it was received, not by
// when it comes out of the middleware: batches are taken some milliseconds later.
type pauses struct {
	history atomic.Pointer[pauseHistory] // replaced as a whole, never changed
}

type pauseHistory struct {
	before  bool // the state before the first change
	changes []pauseChange
}

type pauseChange struct {
	atNanos int64 // since the epoch
	paused  bool
}

// reset forgets all pauses.
func (p *pauses) reset(paused bool) { p.history.Store(&pauseHistory{before: paused}) }

func (p *pauses) set(atNanos int64, paused bool) {
	for {
		old := p.history.Load()
		next := &pauseHistory{}
		if old != nil {
			next.before = old.before
			next.changes = append(next.changes, old.changes...)
		}
		if len(next.changes) == keptChanges {
			next.before = next.changes[0].paused
			next.changes = next.changes[1:]
		}
		next.changes = append(next.changes, pauseChange{atNanos, paused})
		if p.history.CompareAndSwap(old, next) {
			return
		}
	}
}

// now is the state after the newest change.
func (p *pauses) now() bool {
	h := p.history.Load()
	switch {
	case h == nil:
		return false
	case len(h.changes) == 0:
		return h.before
	}
	return h.changes[len(h.changes)-1].paused
}

// at is the state at a time.
func (h *pauseHistory) at(nanos int64) bool {
	if h == nil {
		return false
	}
	for i := len(h.changes) - 1; i >= 0; i-- {
		if nanos >= h.changes[i].atNanos {
			return h.changes[i].paused
		}
	}
	return h.before
}
