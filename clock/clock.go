package clock

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Clock is ROS time under control. All methods may be called from any goroutine.
type Clock struct {
	steady Steady
	spin   time.Duration

	mu     sync.Mutex // guards what follows; nothing blocks under it
	ref    reference
	paused bool // by the user
	held   bool // by the program, while it prepares
	closed bool
	// sleepers are all that exist; idle those of SleepUntil that nobody uses now.
	sleepers map[*Sleeper]struct{}
	idle     []*Sleeper

	jumping  sync.Mutex // one jump at a time, its handlers included; taken before mu
	handlers []*jumpHandler
}

// Option changes a Clock at its making.
type Option func(*Clock)

// WithSteady gives the steady clock to run on; the default is SystemSteady.
func WithSteady(steady Steady) Option { return func(c *Clock) { c.steady = steady } }

// WithRate starts at another rate than 1. An invalid rate is ignored.
func WithRate(rate float64) Option {
	return func(c *Clock) {
		if checkRate(rate) == nil {
			c.ref.rate = rate
		}
	}
}

// WithPaused starts a clock that stands still until Resume.
func WithPaused(paused bool) Option { return func(c *Clock) { c.paused = paused } }

// WithSpin makes sleepers wake earlier by d and spend the rest of the time spinning, which costs a core while it
// lasts. The default is not to spin.
func WithSpin(d time.Duration) Option { return func(c *Clock) { c.spin = max(d, 0) } }

// New gives a clock that shows start now, and runs.
func New(start Time, options ...Option) *Clock {
	c := &Clock{ref: reference{ros: start, rate: 1}, sleepers: make(map[*Sleeper]struct{})}
	for _, option := range options {
		option(c)
	}
	if c.steady == nil {
		c.steady = SystemSteady()
	}
	c.ref.steady = c.steady.Now()
	return c
}

// Now is the current ROS time.
func (c *Clock) Now() Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// now needs mu.
func (c *Clock) now() Time {
	if c.stands() {
		return c.ref.ros
	}
	return c.ref.rosAt(c.steady.Now())
}

func (c *Clock) stands() bool { return c.paused || c.held }

// anchor takes a new reference pair, so that what is changed next acts from this instant on. It needs mu.
func (c *Clock) anchor() {
	steady := c.steady.Now()
	if !c.stands() {
		c.ref.ros = c.ref.rosAt(steady)
	}
	c.ref.steady = steady
}

// Pause stops time and reports whether it ran before.
func (c *Clock) Pause() bool { return c.SetPaused(true) }

// Resume lets time go on, at the rate it had, and reports whether it was paused.
func (c *Clock) Resume() bool { return c.SetPaused(false) }

// SetPaused pauses or resumes and reports whether that changed something.
func (c *Clock) SetPaused(paused bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == paused {
		return false
	}
	c.anchor()
	c.paused = paused
	c.lookAgain()
	return true
}

// Paused says whether the clock was paused; Hold does not count.
func (c *Clock) Paused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

// Hold makes time stand still for the program's own purposes, beside and independent of Pause, until Release.
func (c *Clock) Hold() { c.setHeld(true) }

// Release ends Hold.
func (c *Clock) Release() { c.setHeld(false) }

func (c *Clock) setHeld(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == held {
		return
	}
	c.anchor()
	c.held = held
	c.lookAgain()
}

// SetRate changes how fast time runs, from now on and without a jump: 2 is twice as fast as real time. It refuses what
// is not a positive number; to stop time there is Pause.
func (c *Clock) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anchor()
	c.ref.rate = rate
	c.lookAgain()
	return nil
}

func checkRate(rate float64) error {
	if !(rate > 0) || math.IsInf(rate, 0) { // written so that NaN is refused too
		return fmt.Errorf("set rate %v: %w", rate, ErrRate)
	}
	return nil
}

// Rate is how fast time runs, or will run after a pause.
func (c *Clock) Rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ref.rate
}

// Wake makes each Sleep and SleepUntil of now return false.
func (c *Clock) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt()
}

// Close wakes all sleepers and gives their descriptors back. Sleeping returns false from then on; the time can still
// be read.
func (c *Clock) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.interrupt()
	for _, s := range c.idle {
		s.release()
	}
	c.idle = nil
}
