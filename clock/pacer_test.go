package clock_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"rosbagd/clock"
)

// tick is a published time and when it went out, both from the start.
type tick struct{ shown, wall time.Duration }

// paced runs a pacer in a bubble; ticks gives what it published since the last call.
func paced(t *testing.T, options clock.PacerOptions) (c *clock.Clock, p *clock.Pacer, ticks func() []tick) {
	t.Helper()
	c = clock.New(start, clock.WithSteady(clock.TimerSteady()))
	begin := time.Now()
	var mu sync.Mutex
	var published []tick
	p, err := clock.NewPacer(c, func(shown clock.Time) error {
		mu.Lock()
		defer mu.Unlock()
		published = append(published, tick{shown.Sub(start), time.Since(begin)})
		return nil
	}, options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		c.Close()
	})
	return c, p, func() []tick {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		since := published
		published = nil
		return since
	}
}

// pass lets time go by; the clock of the bubble makes it exact.
func pass(d time.Duration) { <-time.After(d) }

func TestPacerPublishesInWallTime(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c, p, ticks := paced(t, clock.PacerOptions{Frequency: 2})
		require.NoError(t, c.SetRate(10))
		pass(1100 * ms)
		require.Equal(t, []tick{{0, 0}, {5 * s, 500 * ms}, {10 * s, 1000 * ms}}, ticks())

		c.Pause()
		pass(900 * ms)
		require.Equal(t, []tick{{11 * s, 1500 * ms}, {11 * s, 2 * s}}, ticks(), "frozen time goes on being published")

		require.NoError(t, p.SetFrequency(0))
		pass(10 * s)
		require.Empty(t, ticks())
		require.Zero(t, p.Frequency())
		require.NoError(t, p.SetFrequency(1))
		pass(1500 * ms)
		require.Equal(t, []tick{{11 * s, 12 * s}, {11 * s, 13 * s}}, ticks(), "at once, then each period")
		require.InDelta(t, 1, p.Frequency(), 0)
	})
}

func TestPacerHeldPublishesNothing(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		_, p, ticks := paced(t, clock.PacerOptions{Frequency: 1, Held: true})
		pass(2500 * ms)
		require.Empty(t, ticks())
		p.Release()
		require.Equal(t, []tick{{2500 * ms, 2500 * ms}}, ticks())
		p.Release()
		pass(1500 * ms)
		require.Equal(t, []tick{{2500 * ms, 2500 * ms}, {3500 * ms, 3500 * ms}}, ticks())
		p.Hold()
		pass(3 * s)
		require.Empty(t, ticks())
	})
}

func TestPacerLeavesMissedTicksOutAndKeepsItsPhase(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(start, clock.WithSteady(clock.TimerSteady()))
		shown := make(chan time.Duration, 10)
		block := 2500 * ms // the first one takes that long
		p, err := clock.NewPacer(c, func(now clock.Time) error {
			shown <- now.Sub(start)
			pass(block)
			block = 0
			return nil
		}, clock.PacerOptions{Frequency: 1})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		for _, want := range []time.Duration{0, 2500 * ms, 3 * s, 4 * s} {
			require.Equal(t, want, <-shown)
		}
	})
}

func TestPacerRefusesWhatIsNoNumber(t *testing.T) {
	c := clock.New(start)
	defer c.Close()
	for _, hertz := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := clock.NewPacer(c, nil, clock.PacerOptions{Frequency: hertz})
		require.ErrorIs(t, err, clock.ErrFrequency)
	}
	p, err := clock.NewPacer(c, nil, clock.PacerOptions{Frequency: -5})
	require.NoError(t, err)
	require.Zero(t, p.Frequency())
	require.ErrorIs(t, p.SetFrequency(math.NaN()), clock.ErrFrequency)
	require.NoError(t, p.SetFrequency(math.SmallestNonzeroFloat64))
}

func TestPacerLogsTheFirstFailureOfARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		var fails atomic.Bool
		fails.Store(true)
		c := clock.New(start, clock.WithSteady(clock.TimerSteady()))
		p, err := clock.NewPacer(c, func(clock.Time) error {
			if fails.Load() {
				return errors.New("no middleware")
			}
			return nil
		}, clock.PacerOptions{Frequency: 10, Logger: zap.New(core)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		pass(time.Second)
		synctest.Wait()
		require.Equal(t, 1, logs.Len())
		fails.Store(false)
		pass(time.Second)
		fails.Store(true)
		pass(time.Second)
		synctest.Wait()
		require.Equal(t, 2, logs.Len())
	})
}
