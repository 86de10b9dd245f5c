package player

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"rosbagd/clock"
)

// step is a PlayNext or a Burst that is under way.
type step struct {
	wanted uint64 // 0 is all that are left
	sent   uint64 // guarded by Player.mu until the step is finished
	finish func(sent uint64, err error)
}

func (s *step) done() bool { return s.wanted > 0 && s.sent >= s.wanted }

// Pause stops time. A message whose time has already come may still go out.
func (p *Player) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setPaused(true)
}

// Resume lets time go on, at the rate it had.
func (p *Player) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setPaused(false)
}

// TogglePaused pauses or resumes.
func (p *Player) TogglePaused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setPaused(!p.clock.Paused())
}

// setPaused needs mu.
func (p *Player) setPaused(paused bool) {
	if paused {
		p.log.Info("Pausing play.")
	} else {
		p.log.Info("Resuming play.")
	}
	if p.clock.SetPaused(paused) {
		p.sleeper.Wake()
	}
}

// IsPaused says whether time is stopped by a command.
func (p *Player) IsPaused() bool { return p.clock.Paused() }

// Rate is the ratio of the bag's time to real time.
func (p *Player) Rate() float64 { return p.clock.Rate() }

// SetRate changes the rate at once and without a jump. It refuses what is not a positive, finite number.
func (p *Player) SetRate(rate float64) error {
	if err := p.clock.SetRate(rate); err != nil {
		return fmt.Errorf("change playback: %w", err)
	}
	p.log.Info("Set rate to " + number(rate))
	p.options.Changed()
	return nil
}

// number writes a float as rosbag2 does, with six digits.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// Seek goes to a time, paused or not: the next message is the first that is not before it. A time before the start is
// the start; one after the end is the end. Without a playback it returns ErrNotPlaying.
func (p *Player) Seek(to clock.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.stopping {
		return fmt.Errorf("seek: %w", ErrNotPlaying)
	}
	p.turn(max(to, p.start))
	return nil
}

// PlayNext publishes the next message of a paused player and moves the clock to it. It waits until the message is
// read; what can not be published is passed over. It returns nil when one went out, and ErrNotPaused, ErrNotPlaying or
// ErrEnd when none could.
func (p *Player) PlayNext(ctx context.Context) error {
	_, err := p.wait(ctx, 1, p.playNext)
	return err
}

// Burst publishes up to n messages of a paused player without waiting for their times, all that are left if n is 0,
// and returns how many went out. That the end or a Resume came first is no error.
func (p *Player) Burst(ctx context.Context, n uint64) (uint64, error) {
	return p.wait(ctx, n, p.burst)
}

// wait begins a step and waits until it is done.
func (p *Player) wait(ctx context.Context, n uint64, begin func(*step) error) (uint64, error) {
	type result struct {
		sent uint64
		err  error
	}
	answers := make(chan result, 1)
	s := &step{wanted: n, finish: func(sent uint64, err error) { answers <- result{sent, err} }}
	if err := begin(s); err != nil {
		return 0, err
	}
	select {
	case r := <-answers:
		return r.sent, r.err
	case <-ctx.Done():
		return p.withdraw(s), ctx.Err()
	}
}

// withdraw takes back a step nobody waits for any more, and tells what it has done so far.
func (p *Player) withdraw(s *step) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.steps = slices.DeleteFunc(p.current.steps, func(other *step) bool { return other == s })
	}
	return s.sent
}

// playNext is PlayNext that answers through the step, unless it returns an error.
func (p *Player) playNext(s *step) error {
	p.log.Debug("Playing next message.")
	if err := p.addStep(s); err != nil {
		return fmt.Errorf("play next: %w", err)
	}
	return nil
}

// burst is Burst that answers through the step, unless it returns an error.
func (p *Player) burst(s *step) error {
	finish := s.finish
	s.finish = func(sent uint64, err error) {
		if errors.Is(err, ErrEnd) || errors.Is(err, ErrNotPaused) {
			err = nil
		}
		finish(sent, err)
	}
	if err := p.addStep(s); err != nil {
		return fmt.Errorf("burst: %w", err)
	}
	p.log.Info(fmt.Sprintf("Burst %d messages.", s.wanted))
	return nil
}

func (p *Player) addStep(s *step) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.clock.Paused():
		return ErrNotPaused
	case p.current == nil || p.current.stopping:
		return ErrNotPlaying
	}
	p.current.steps = append(p.current.steps, s)
	p.sleeper.Wake()
	return nil
}

// Play starts a playback in an idle player and returns at once. The place where it begins is the player's.
func (p *Player) Play(limit Limit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.finished:
		return fmt.Errorf("play: %w", ErrNotPlaying)
	case p.current != nil:
		return fmt.Errorf("play: %w", ErrPlaying)
	}
	p.begin(limit)
	return nil
}

// Stop ends the playback, loops included, and waits until it is over. Whether the player is paused stays as it is.
// Without a playback it returns ErrNotPlaying.
func (p *Player) Stop(ctx context.Context) error {
	over := make(chan struct{})
	if err := p.stop(func() { close(over) }); err != nil {
		return err
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop is Stop that calls done when the playback is over, unless it returns an error.
func (p *Player) stop(done func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return fmt.Errorf("stop: %w", ErrNotPlaying)
	}
	p.log.Info("Stopping playback.", zap.Int64("time", int64(p.clock.Now())))
	p.current.stopping = true
	p.current.atEnd = append(p.current.atEnd, done)
	p.sleeper.Wake()
	return nil
}
