package clock

import (
	"slices"
	"time"
)

// Jump is a break in the flow of time.
type Jump struct{ From, To Time }

// JumpHandler is told of jumps that reach a threshold. Its functions run in the goroutine that jumps, one jump at a
// time; they may read the clock but must not jump themselves. A nil function is left out.
type JumpHandler struct {
	Before func()     // the clock still shows the old time
	After  func(Jump) // the clock shows the new time
	// Forward and Backward are the smallest distances that count, each positive; zero is never.
	Forward, Backward time.Duration
}

type jumpHandler struct{ JumpHandler }

func (h JumpHandler) wants(distance time.Duration) bool {
	return h.Forward > 0 && distance >= h.Forward || h.Backward > 0 && -distance >= h.Backward
}

// OnJump registers a handler until remove is called.
func (c *Clock) OnJump(handler JumpHandler) (remove func()) {
	h := &jumpHandler{handler}
	c.mu.Lock()
	c.handlers = append(c.handlers, h)
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		// A new slice: a jump under way goes through the old one.
		kept := make([]*jumpHandler, 0, len(c.handlers))
		for _, other := range c.handlers {
			if other != h {
				kept = append(kept, other)
			}
		}
		c.handlers = kept
	}
}

// Jump sets the time, paused or not, and makes every sleeper return false.
func (c *Clock) Jump(to Time) {
	c.jumping.Lock()
	defer c.jumping.Unlock()
	c.mu.Lock()
	distance := to.Sub(c.now())
	handlers := slices.Clip(c.handlers)
	c.mu.Unlock()

	for _, h := range handlers {
		if h.Before != nil && h.wants(distance) {
			h.Before()
		}
	}
	c.mu.Lock()
	c.anchor()
	jump := Jump{From: c.ref.ros, To: to}
	c.ref.ros = to
	c.interrupt()
	c.mu.Unlock()
	for _, h := range handlers {
		if h.After != nil && h.wants(distance) {
			h.After(jump)
		}
	}
}
