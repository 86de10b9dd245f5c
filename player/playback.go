package player

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"rosbagd/clock"
)

// move is what the play loop does next.
type move int

const (
	doLeave  move = iota // the playback was stopped
	doRest               // until something changes
	doSettle             // the queue is primed: let time run
	doAnswer             // the first step is done
	doSleep              // until the message is due, then publish it
	doExtra              // publish the latched message
	doSingle             // publish the message for the first step
	doFinish             // the pass is over
)

// decision is a move with what belongs to it.
type decision struct {
	move  move
	item  item
	epoch uint64
	step  *step
	err   error // the answer
}

// shortestLoop keeps a bag without duration, such as one latched message, from being played as fast as the machine can.
const shortestLoop = 100 * time.Millisecond

// play goes through the bag until its end, the last loop or a stop.
func (p *Player) play(ctx context.Context, playing *playback) error {
	until := int64(-1)
	if playing.limited {
		until = int64(playing.last)
	}
	p.log.Info(fmt.Sprintf("Playback until timestamp: %d", until))
	p.warnOfNothing(playing)
	if !p.delay(ctx, playing) {
		return nil
	}
	for {
		began := time.Now()
		if !p.pass(ctx, playing) {
			return nil
		}
		if err := p.queue.failure(); err != nil {
			return err
		}
		if p.loops(playing) && !p.waitUntil(ctx, playing, began.Add(shortestLoop)) || !p.again(playing) {
			return nil
		}
	}
}

// warnOfNothing says why a playback will have no message: it ends at once, and without an error.
func (p *Player) warnOfNothing(playing *playback) {
	switch {
	case playing.limited && playing.last == 0:
		p.log.Warn("Nothing is played: the duration and the end are 0. Negative ones are no limit.")
	case playing.limited && playing.last < p.start:
		p.log.Warn("Nothing is played: the end is before the start.")
	case !slices.ContainsFunc(p.outputs, func(o *output) bool { return o != nil }):
		p.log.Warn("Nothing is played: no topic of the bag is selected.", zap.Int("topics", len(p.known)))
	}
}

// delay waits before the first pass; false when the playback is over before it began.
func (p *Player) delay(ctx context.Context, playing *playback) bool {
	if p.options.Delay == 0 {
		return true
	}
	p.log.Info(fmt.Sprintf("Sleep %d ns", p.options.Delay.Nanoseconds()))
	return p.waitUntil(ctx, playing, time.Now().Add(p.options.Delay))
}

// waitUntil waits for a moment in wall time; false when the playback is over before it.
func (p *Player) waitUntil(ctx context.Context, playing *playback, end time.Time) bool {
	for {
		left := time.Until(end)
		if left <= 0 {
			return true
		}
		if p.over(ctx, playing) {
			return false
		}
		p.sleeper.Sleep(clock.Time(math.MaxInt64), left) // the timeout or a command ends this, never the clock
	}
}

func (p *Player) over(ctx context.Context, playing *playback) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return playing.stopping || ctx.Err() != nil
}

// loops says whether a whole pass, from the start to the end, is followed by another one.
func (p *Player) loops(playing *playback) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.options.Loop && playing.fromStart && playing.handled > 0
}

// again goes back to the start if asked to loop, and if there was something to play: an empty loop would spin.
func (p *Player) again(playing *playback) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.options.Loop || playing.stopping || playing.fromStart && playing.handled == 0 {
		return false
	}
	p.turn(p.start)
	return true
}

// pass plays once to the end; false when stopped.
func (p *Player) pass(ctx context.Context, playing *playback) bool {
	for {
		d := p.decide(ctx, playing)
		switch d.move {
		case doLeave:
			return false
		case doFinish:
			return true
		case doRest:
			p.sleeper.Park()
		case doSettle:
			p.settle(d.epoch)
		case doAnswer:
			d.step.finish(d.step.sent, d.err)
		case doExtra:
			if p.queue.pop(d.epoch) {
				p.publish(d.item)
			}
		case doSleep:
			if p.sleeper.Sleep(d.item.due, farAway) && p.takeDue(playing, d.epoch) {
				p.publish(d.item)
			}
		case doSingle:
			if p.takeStep(playing, d.epoch) && p.publish(d.item) {
				p.count(d)
			}
		}
	}
}

// decide looks at the state once, as a whole.
func (p *Player) decide(ctx context.Context, playing *playback) decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	if playing.stopping || ctx.Err() != nil {
		return decision{move: doLeave}
	}
	head, epoch, supply := p.queue.head()
	if p.priming && supply != reading {
		return decision{move: doSettle, epoch: epoch}
	}
	paused := p.clock.Paused()
	if len(playing.steps) > 0 {
		first := playing.steps[0]
		switch {
		case first.done():
			return p.finishStep(playing, nil)
		case !paused:
			return p.finishStep(playing, ErrNotPaused)
		case supply == ended:
			return p.finishStep(playing, ErrEnd)
		case supply == ready && !head.extra:
			return decision{move: doSingle, item: head, epoch: epoch, step: first}
		}
	}
	stepping := len(playing.steps) > 0
	switch {
	case supply == reading:
		playing.hungry = !paused && !p.priming
		return decision{move: doRest}
	case paused && !stepping:
		return decision{move: doRest}
	case supply == ended:
		return decision{move: doFinish}
	case head.extra:
		return decision{move: doExtra, item: head, epoch: epoch}
	}
	p.noteHunger(playing, head)
	return decision{move: doSleep, item: head, epoch: epoch}
}

// noteHunger warns when the player had to wait for a message and it came too late to be on time. It needs mu.
func (p *Player) noteHunger(playing *playback, head item) {
	if !playing.hungry {
		return
	}
	playing.hungry = false
	late := p.clock.Now().Sub(head.due)
	if float64(late) > p.clock.Rate()*float64(tolerated) && playing.starved.allow(time.Now()) {
		p.log.Warn("Message queue starved. Messages will be delayed. "+
			"Consider increasing the --read-ahead-queue-size option.", zap.Int("not_logged", playing.starved.takeSuppressed()))
	}
}

// tolerated is how late, in wall time, a message may be read without a warning.
const tolerated = time.Millisecond

// finishStep takes the first step off. It needs mu.
func (p *Player) finishStep(playing *playback, err error) decision {
	first := playing.steps[0]
	playing.steps = playing.steps[1:]
	return decision{move: doAnswer, step: first, err: err}
}

// settle lets time run. The pacer publishes first, so that others learn of the new place before its messages come, and
// the first /clock is exactly where playing begins.
func (p *Player) settle(epoch uint64) {
	if p.pacer != nil {
		p.pacer.Release()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.priming && p.queue.epoch() == epoch {
		p.priming = false
		p.clock.Release()
	}
}

// takeDue takes the head whose time has come, unless a command came first.
func (p *Player) takeDue(playing *playback, epoch uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if playing.stopping || p.clock.Paused() || !p.queue.pop(epoch) {
		return false
	}
	playing.begun = true
	playing.handled++
	return true
}

// takeStep takes the head for a step, unless a command came first.
func (p *Player) takeStep(playing *playback, epoch uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if playing.stopping || len(playing.steps) == 0 || !p.clock.Paused() || !p.queue.pop(epoch) {
		return false
	}
	playing.begun = true
	playing.handled++
	return true
}

// count notes a message of a step and moves the clock to it, unless playing is somewhere else by now.
func (p *Player) count(d decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.step.sent++
	if p.clock.Paused() && p.queue.epoch() == d.epoch && d.item.due > p.clock.Now() {
		p.clock.Jump(d.item.due)
	}
}

// publish reports whether the message went out; that it did not is logged here.
func (p *Player) publish(it item) bool {
	out := p.outputs[it.topic]
	if out.clockBefore {
		if err := p.connect.Clock(it.due); err != nil && out.failures.allow(time.Now()) {
			p.log.Warn("Failed to publish the clock", zap.Error(err))
		}
	}
	err := out.publisher.Publish(it.data)
	if err == nil {
		p.published++
		return true
	}
	if out.failures.allow(time.Now()) {
		p.log.Error(fmt.Sprintf("Failed to publish message on '%s' topic. Error: %v", out.name, err),
			zap.String("topic", out.name), zap.Int("not_logged", out.failures.takeSuppressed()))
	}
	return false
}

// throttle lets something through once in a while. It belongs to one goroutine.
type throttle struct {
	every      time.Duration
	last       time.Time
	suppressed int
}

func (t *throttle) allow(now time.Time) bool {
	if !t.last.IsZero() && now.Sub(t.last) < t.every {
		t.suppressed++
		return false
	}
	t.last = now
	return true
}

// takeSuppressed gives how often nothing was let through since the last call.
func (t *throttle) takeSuppressed() int {
	n := t.suppressed
	t.suppressed = 0
	return n
}
