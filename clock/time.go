package clock

import (
	"math"
	"time"
)

// Time is an instant in nanoseconds since the epoch, in the time of the messages.
type Time int64

// Add is t moved by d; it stops at the ends of the range instead of wrapping round.
func (t Time) Add(d time.Duration) Time {
	return Time(saturatingAdd(int64(t), int64(d)))
}

// Sub is how much later t is than u; it stops at the ends of the range.
func (t Time) Sub(u Time) time.Duration {
	difference := int64(t) - int64(u)
	if (int64(t) < int64(u)) != (difference < 0) {
		if t > u {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return time.Duration(difference)
}

func saturatingAdd(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// reference is the pair of matching instants and the rate by which ROS time runs from there.
type reference struct {
	ros    Time
	steady time.Duration
	rate   float64
}

// rosAt is the ROS time at a steady instant; before the reference time stands still.
func (r reference) rosAt(steady time.Duration) Time {
	if steady <= r.steady {
		return r.ros
	}
	return r.ros.Add(scale(steady-r.steady, r.rate))
}

// steadyAt is the first steady instant at which rosAt is t or more: a sleeper that wakes there must find that the time
// has come, or it would spin.
func (r reference) steadyAt(t Time) time.Duration {
	if t <= r.ros {
		return r.steady
	}
	want := t.Sub(r.ros)
	elapsed := want
	if r.rate != 1 {
		exact := math.Ceil(float64(want) / r.rate)
		if exact >= math.MaxInt64 {
			return math.MaxInt64
		}
		elapsed = time.Duration(exact)
		for step := int64(1); scale(elapsed, r.rate) < want; step *= 2 {
			elapsed = time.Duration(saturatingAdd(int64(elapsed), step))
		}
	}
	return time.Duration(saturatingAdd(int64(r.steady), int64(elapsed)))
}

func scale(d time.Duration, rate float64) time.Duration {
	if rate == 1 {
		return d
	}
	scaled := float64(d) * rate
	if scaled >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(scaled)
}
