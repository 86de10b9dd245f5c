package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/clock"
)

func steadies() map[string]clock.Steady {
	return map[string]clock.Steady{"system": clock.SystemSteady(), "timer": clock.TimerSteady()}
}

func TestWaiterReturnsNotBeforeItsInstant(t *testing.T) {
	for name, steady := range steadies() {
		t.Run(name, func(t *testing.T) {
			defer clock.LockThread()()
			w := steady.NewWaiter()
			defer w.Close()
			for _, wait := range []time.Duration{-time.Hour, 0, time.Microsecond, time.Millisecond} {
				until := steady.Now() + wait
				for steady.Now() < until { // a return for no reason is allowed
					w.Wait(until)
				}
			}
			w.Wait(-1) // before the zero of the clock: at once
		})
	}
}

func TestWaiterWakes(t *testing.T) {
	for name, steady := range steadies() {
		t.Run(name, func(t *testing.T) {
			w := steady.NewWaiter()
			defer w.Close()
			never := time.Duration(1<<63 - 1)
			w.Wake() // before the wait
			w.Wake()
			w.Wait(never)
			for range 100 { // at any time near it
				var woken sync.WaitGroup
				woken.Go(w.Wake)
				w.Wait(never)
				woken.Wait()
			}
		})
	}
}

func TestSystemSteadyNeverGoesBack(t *testing.T) {
	steady := clock.SystemSteady()
	last := steady.Now()
	for range 1000 {
		now := steady.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}

// BenchmarkLateness sleeps for instants a millisecond apart and reports how late it woke.
func BenchmarkLateness(b *testing.B) {
	for name, steady := range steadies() {
		b.Run(name, func(b *testing.B) {
			defer clock.LockThread()()
			c := clock.New(0, clock.WithSteady(steady))
			defer c.Close()
			s := c.NewSleeper()
			defer s.Close()
			var worst, sum time.Duration
			due := c.Now()
			for b.Loop() {
				due = due.Add(time.Millisecond)
				s.Sleep(due, time.Second)
				late := c.Now().Sub(due)
				sum += late
				worst = max(worst, late)
			}
			b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "us-late/op")
			b.ReportMetric(float64(worst.Microseconds()), "us-worst")
		})
	}
}
