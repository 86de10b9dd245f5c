package clock

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Pacer publishes a clock's time at a frequency of wall time, also while the clock stands still: then the same time
// again and again.
type Pacer struct {
	clock   *Clock
	publish func(Time) error
	log     *zap.Logger
	changed chan struct{} // tells Run to look at the fields below

	// mu guards what follows and is held while publishing, so that times go out in the order they were read.
	mu        sync.Mutex
	frequency float64       // Hz, as it was asked for; 0 is off
	period    time.Duration // 0 is off
	held      bool
	next      time.Time
	failing   bool
}

// PacerOptions are the choices for a Pacer; all are optional.
type PacerOptions struct {
	Frequency float64 // Hz; 0 and less is off
	Held      bool    // publish nothing until Release
	Logger    *zap.Logger
}

// NewPacer gives a Pacer that publishes through a function which must not block for long. Nothing is published before
// Run.
func NewPacer(clock *Clock, publish func(Time) error, options PacerOptions) (*Pacer, error) {
	period, err := periodOf(options.Frequency)
	if err != nil {
		return nil, err
	}
	log := options.Logger
	if log == nil {
		log = zap.NewNop()
	}
	return &Pacer{
		clock: clock, publish: publish, log: log, changed: make(chan struct{}, 1),
		frequency: max(options.Frequency, 0), period: period, held: options.Held,
	}, nil
}

func periodOf(frequency float64) (time.Duration, error) {
	if math.IsNaN(frequency) || math.IsInf(frequency, 0) {
		return 0, fmt.Errorf("set clock frequency %v: %w", frequency, ErrFrequency)
	}
	if frequency <= 0 {
		return 0, nil
	}
	nanos := float64(time.Second) / frequency
	if nanos >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return max(time.Duration(nanos), 1), nil
}

// SetFrequency changes the frequency in Hz: 0 and less stops, more than 0 publishes at once and then each period.
func (p *Pacer) SetFrequency(hertz float64) error {
	period, err := periodOf(hertz)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.frequency, p.period, p.next = max(hertz, 0), period, time.Time{}
	p.mu.Unlock()
	p.tellRun()
	return nil
}

// Frequency is the current frequency in Hz, 0 for off.
func (p *Pacer) Frequency() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frequency
}

// Hold stops publishing until Release. When it returns, nothing is going out any more.
func (p *Pacer) Hold() {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
	p.tellRun()
}

// Release ends Hold, if there was one, and publishes in the calling goroutine unless the pacer is off: when it returns,
// others know the time that the clock shows now, exactly.
func (p *Pacer) Release() {
	p.mu.Lock()
	p.held = false
	if p.period > 0 {
		p.send()
		p.next = nextTick(time.Now(), time.Time{}, p.period)
	}
	p.mu.Unlock()
	p.tellRun()
}

func (p *Pacer) tellRun() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Run publishes until the context ends, which is no error.
func (p *Pacer) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, on := p.tick()
		var due <-chan time.Time
		if on {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.changed:
		case <-due:
		}
	}
}

// tick publishes when it is time to, and says how long to wait for the next time.
func (p *Pacer) tick() (wait time.Duration, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held || p.period == 0 {
		return 0, false
	}
	now := time.Now()
	if !now.Before(p.next) {
		p.send()
		p.next = nextTick(now, p.next, p.period)
	}
	return time.Until(p.next), true
}

// nextTick keeps the phase of the ticks and leaves out those that were missed.
func nextTick(now, last time.Time, period time.Duration) time.Time {
	if last.IsZero() {
		return now.Add(period)
	}
	missed := now.Sub(last) / period
	return last.Add(missed * period).Add(period)
}

// send needs mu. Of a row of failures only the first is logged.
func (p *Pacer) send() {
	err := p.publish(p.clock.Now())
	if err != nil && !p.failing {
		p.log.Warn("Failed to publish the clock", zap.Error(err))
	}
	p.failing = err != nil
}
