package clock

import (
	"runtime"
	"time"
)

// Sleeper is the place where one goroutine sleeps on a Clock. Unlike with Clock.Wake, a wake-up given while nobody
// sleeps is kept for the next Sleep, so that a loop of "look, then sleep" misses nothing.
type Sleeper struct {
	clock  *Clock
	waiter Waiter

	// Guarded by the clock's mu.
	woken    bool // Sleep has to return false
	sleeping bool // the waiter is in use
	closed   bool
}

// NewSleeper gives a place to sleep; Close it before or after the clock.
func (c *Clock) NewSleeper() *Sleeper {
	s := &Sleeper{clock: c, waiter: c.steady.NewWaiter()}
	c.mu.Lock()
	c.sleepers[s] = struct{}{}
	c.mu.Unlock()
	return s
}

// Sleep waits until the clock shows the time given and returns true; it does not return true while time stands still.
// It returns false after a Wake or a Jump, at the end of the clock, or when the timeout has passed in real time.
func (s *Sleeper) Sleep(until Time, timeout time.Duration) bool {
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	var limit time.Duration // of the steady clock; set when it is first needed
	for {
		if s.woken || s.closed || c.closed {
			s.woken = false
			return false
		}
		steady := c.steady.Now()
		if limit == 0 {
			limit = time.Duration(saturatingAdd(int64(steady), int64(max(timeout, 0))))
		}
		target, standing := limit, c.stands()
		if !standing {
			due := c.ref.steadyAt(until)
			if steady >= due {
				return true
			}
			target = min(due, limit)
		}
		if steady >= limit {
			return false
		}
		s.wait(target, !standing)
	}
}

// wait gives mu up while it waits.
func (s *Sleeper) wait(target time.Duration, precise bool) {
	c := s.clock
	s.sleeping = true
	c.mu.Unlock()
	if precise && c.spin > 0 {
		if early := target - c.spin; c.steady.Now() < early {
			s.waiter.Wait(early)
		} else {
			for c.steady.Now() < target && !s.interrupted() {
				runtime.Gosched()
			}
		}
	} else {
		s.waiter.Wait(target)
	}
	c.mu.Lock()
	s.sleeping = false
}

func (s *Sleeper) interrupted() bool {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return s.woken || s.closed || s.clock.closed || s.clock.stands()
}

// Park waits for a Wake or a Jump, whatever the time.
func (s *Sleeper) Park() {
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.woken && !s.closed && !c.closed {
		s.wait(1<<63-1, false)
	}
	s.woken = false
}

// Wake ends the Sleep or Park of now, or the next one.
func (s *Sleeper) Wake() {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.interrupt()
}

// interrupt needs the clock's mu.
func (s *Sleeper) interrupt() {
	s.woken = true
	if s.sleeping {
		s.waiter.Wake()
	}
}

// Close gives the descriptors back. Nobody may be sleeping here.
func (s *Sleeper) Close() {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.release()
}

// release needs the clock's mu, and nobody may be sleeping.
func (s *Sleeper) release() {
	if s.closed {
		return
	}
	s.closed = true
	delete(s.clock.sleepers, s)
	s.waiter.Close()
}

// SleepUntil is Sleep for a goroutine without a Sleeper of its own. It returns true only when the time was reached; a
// Jump, a Wake, the end of the clock or the real-time timeout give false. While time stands still it waits for one of
// these, without using the processor.
func (c *Clock) SleepUntil(until Time, timeout time.Duration) bool {
	s := c.takeSleeper()
	reached := s.Sleep(until, timeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.release()
	} else {
		c.idle = append(c.idle, s)
	}
	return reached
}

func (c *Clock) takeSleeper() *Sleeper {
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		s := c.idle[last]
		c.idle = c.idle[:last]
		s.woken = false
		c.mu.Unlock()
		return s
	}
	c.mu.Unlock()
	return c.NewSleeper()
}

// interrupt makes all sleepers return false. It needs mu.
func (c *Clock) interrupt() {
	for s := range c.sleepers {
		s.interrupt()
	}
}

// lookAgain makes the sleepers compute their instant anew, without returning. It needs mu.
func (c *Clock) lookAgain() {
	for s := range c.sleepers {
		if s.sleeping {
			s.waiter.Wake()
		}
	}
}
