package clock_test

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/clock"
)

const start = clock.Time(1_700_000_000_000_000_000)

// manual is a steady clock that a test moves. Its waiters do not wait: nothing sleeps in the tests that use it.
type manual struct {
	mu  sync.Mutex
	now time.Duration
}

func (m *manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += d
}

func (m *manual) NewWaiter() clock.Waiter { return &jumpingWaiter{m} }

// jumpingWaiter moves its clock to the instant it should wait for: sleeping takes no time at all.
type jumpingWaiter struct{ clock *manual }

func (w *jumpingWaiter) Wait(until time.Duration) {
	w.clock.mu.Lock()
	defer w.clock.mu.Unlock()
	w.clock.now = max(w.clock.now, until)
}
func (w *jumpingWaiter) Wake()  {}
func (w *jumpingWaiter) Close() {}

func TestTimeSaturates(t *testing.T) {
	require.Equal(t, clock.Time(math.MaxInt64), clock.Time(math.MaxInt64-1).Add(time.Hour))
	require.Equal(t, clock.Time(math.MinInt64), clock.Time(math.MinInt64+1).Add(-time.Hour))
	require.Equal(t, time.Duration(math.MaxInt64), clock.Time(math.MaxInt64).Sub(-1))
	require.Equal(t, time.Duration(math.MinInt64), clock.Time(math.MinInt64).Sub(1))
	require.Equal(t, 3*time.Nanosecond, clock.Time(5).Sub(2))
}

func TestTimeFollowsRateAndPause(t *testing.T) {
	steady := &manual{now: 17}
	c := clock.New(start, clock.WithSteady(steady), clock.WithRate(0.5))
	defer c.Close()
	elapsed := func() time.Duration { return c.Now().Sub(start) }

	steady.Advance(4 * time.Second)
	require.Equal(t, 2*time.Second, elapsed())
	require.NoError(t, c.SetRate(2))
	require.Equal(t, 2*time.Second, elapsed(), "a new rate is no jump")
	steady.Advance(3 * time.Second)
	require.Equal(t, 8*time.Second, elapsed())

	require.True(t, c.Pause())
	require.False(t, c.Pause(), "paused already")
	steady.Advance(time.Hour)
	require.Equal(t, 8*time.Second, elapsed())
	require.NoError(t, c.SetRate(1))
	require.Equal(t, 8*time.Second, elapsed())
	require.True(t, c.Resume())
	require.False(t, c.Resume())
	steady.Advance(time.Second)
	require.Equal(t, 9*time.Second, elapsed())

	c.Hold()
	require.False(t, c.Paused(), "holding is not pausing")
	steady.Advance(time.Second)
	require.Equal(t, 9*time.Second, elapsed())
	c.Pause()
	c.Release()
	steady.Advance(time.Second)
	require.Equal(t, 9*time.Second, elapsed(), "still paused")
}

func TestSetRateRefuses(t *testing.T) {
	c := clock.New(start, clock.WithRate(3), clock.WithRate(-1))
	defer c.Close()
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.ErrorIs(t, c.SetRate(rate), clock.ErrRate, "rate %v", rate)
		require.InDelta(t, 3, c.Rate(), 0)
	}
}

func TestJumpTellsHandlersBeyondTheirThresholds(t *testing.T) {
	steady := &manual{}
	c := clock.New(start, clock.WithSteady(steady), clock.WithPaused(true))
	defer c.Close()
	var told []string
	listen := func(name string, forward, backward time.Duration) func() {
		return c.OnJump(clock.JumpHandler{
			Before:  func() { told = append(told, name+" before "+c.Now().Sub(start).String()) },
			After:   func(j clock.Jump) { told = append(told, name+" after "+j.To.Sub(j.From).String()) },
			Forward: forward, Backward: backward,
		})
	}
	listen("any", 1, 1)
	removeFar := listen("far", time.Minute, 0)
	listen("back", 0, time.Second)
	listen("never", 0, 0)

	c.Jump(start.Add(time.Second))
	require.Equal(t, []string{"any before 0s", "any after 1s"}, told)
	told = nil
	c.Jump(start.Add(2 * time.Minute))
	require.Equal(t, []string{"any before 1s", "far before 1s", "any after 1m59s", "far after 1m59s"}, told)
	told = nil
	removeFar()
	c.Jump(start)
	require.Equal(t, []string{"any before 2m0s", "back before 2m0s", "any after -2m0s", "back after -2m0s"}, told)
	require.Equal(t, start, c.Now())
}

// sleep runs SleepUntil in its own goroutine, within a synctest bubble.
func sleep(c *clock.Clock, until clock.Time, timeout time.Duration) <-chan bool {
	reached := make(chan bool, 1)
	go func() { reached <- c.SleepUntil(until, timeout) }()
	synctest.Wait()
	return reached
}

func TestSleepUntil(t *testing.T) {
	cases := []struct {
		name    string
		act     func(c *clock.Clock)
		reached bool
		after   time.Duration // wall time
	}{
		{"in its time", func(*clock.Clock) {}, true, 10 * time.Second},
		{"sooner at a higher rate", func(c *clock.Clock) { _ = c.SetRate(10) }, true, time.Second},
		{"later at a lower rate", func(c *clock.Clock) { _ = c.SetRate(0.5) }, true, 20 * time.Second},
		{"not while paused", func(c *clock.Clock) { c.Pause() }, false, time.Minute},
		{"not while held", func(c *clock.Clock) { c.Hold() }, false, time.Minute},
		{"after a pause", func(c *clock.Clock) {
			c.Pause()
			time.AfterFunc(5*time.Second, func() { c.Resume() })
		}, true, 15 * time.Second},
		{"not after a jump beyond", func(c *clock.Clock) { c.Jump(start.Add(time.Hour)) }, false, 0},
		{"not after a jump back", func(c *clock.Clock) { c.Jump(0) }, false, 0},
		{"not after a wake-up", func(c *clock.Clock) { c.Wake() }, false, 0},
		{"not after the end", func(c *clock.Clock) { c.Close() }, false, 0},
		{"not after the timeout", func(c *clock.Clock) { _ = c.SetRate(0.01) }, false, time.Minute},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clock.New(start, clock.WithSteady(clock.TimerSteady()))
				defer c.Close()
				begin := time.Now()
				reached := sleep(c, start.Add(10*time.Second), time.Minute)
				other := sleep(c, start.Add(10*time.Second), time.Minute)
				tc.act(c)
				require.Equal(t, tc.reached, <-reached)
				require.Equal(t, tc.reached, <-other)
				require.Equal(t, tc.after, time.Since(begin))
			})
		})
	}
}

func TestSleepUntilNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(start, clock.WithSteady(clock.TimerSteady()))
		defer c.Close()
		require.True(t, c.SleepUntil(start, 0))
		require.True(t, c.SleepUntil(0, time.Hour))
		require.False(t, c.SleepUntil(start+1, 0))
		c.Pause()
		require.False(t, c.SleepUntil(start, 0), "a clock that stands gets nowhere")
	})
}

func TestSleeperKeepsTheWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(start, clock.WithSteady(clock.TimerSteady()))
		defer c.Close()
		s := c.NewSleeper()
		defer s.Close()
		s.Wake()
		require.False(t, s.Sleep(start.Add(time.Hour), time.Hour))
		require.True(t, s.Sleep(start.Add(time.Hour), 2*time.Hour), "one wake-up ends one sleep")
		s.Wake()
		s.Park()
		c.Jump(start)
		s.Park()
		require.Equal(t, start, c.Now())
	})
}

func TestSpinningSleeperGetsThere(t *testing.T) {
	c := clock.New(start, clock.WithSpin(time.Millisecond))
	defer c.Close()
	due := start.Add(3 * time.Millisecond)
	require.True(t, c.SleepUntil(due, time.Minute))
	require.GreaterOrEqual(t, c.Now(), due)
}

// TestTimeNeverRunsBack gives commands in any order: without a jump time goes forward only, and a pause keeps the rate.
func TestTimeNeverRunsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steady := &manual{now: time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "zero"))}
		c := clock.New(start, clock.WithSteady(steady))
		defer c.Close()
		last, rate, paused := start, 1.0, false
		t.Repeat(map[string]func(*rapid.T){
			"pause":   func(*rapid.T) { c.Pause(); paused = true },
			"resume":  func(*rapid.T) { c.Resume(); paused = false },
			"hold":    func(*rapid.T) { c.Hold() },
			"release": func(*rapid.T) { c.Release() },
			"wake":    func(*rapid.T) { c.Wake() },
			"rate": func(t *rapid.T) {
				next := rapid.Float64().Draw(t, "rate")
				if c.SetRate(next) == nil {
					rate = next
				}
			},
			"wait": func(t *rapid.T) {
				steady.Advance(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait")))
			},
			"jump": func(t *rapid.T) {
				last = clock.Time(rapid.Int64().Draw(t, "jump"))
				c.Jump(last)
			},
			"": func(t *rapid.T) {
				now := c.Now()
				require.GreaterOrEqual(t, now, last)
				last = now
				require.InDelta(t, rate, c.Rate(), 0)
				require.Equal(t, paused, c.Paused())
			},
		})
	})
}

// TestSleepEndsAtItsTime sleeps on a steady clock that jumps to the instant waited for: a wrong conversion would spin
// for ever or return too early.
func TestSleepEndsAtItsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steady := &manual{now: time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "zero"))}
		rate := rapid.Float64Range(1e-3, 1e6).Draw(t, "rate")
		c := clock.New(start, clock.WithSteady(steady), clock.WithRate(rate))
		defer c.Close()
		until := start
		for range 5 {
			until = until.Add(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "sleep")))
			require.True(t, c.SleepUntil(until, math.MaxInt64))
			require.GreaterOrEqual(t, c.Now(), until)
		}
	})
}
