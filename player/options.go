package player

import (
	"time"

	"go.uber.org/zap"

	"rosbagd/clock"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Mode says what Run does beside playing.
type Mode int

const (
	// PlayOnce plays at once, and Run returns at the end.
	PlayOnce Mode = iota
	// PlayThenServe plays at once, then waits for Play.
	PlayThenServe
	// Serve waits for Play from the start.
	Serve
)

// Latched says when the messages of transient_local topics that lie before the place where playing begins are
// published first.
type Latched int

const (
	// LatchedStart is at the start, when it is not the start of the bag.
	LatchedStart Latched = iota
	// LatchedSeek is at the start, after each Seek and in each loop.
	LatchedSeek
	// LatchedOff is never.
	LatchedOff
)

// Limit is the end of a playback in the time of the bag, inclusive. With both given the later one counts; with
// neither it is the end of the bag.
type Limit struct {
	Duration    time.Duration // from the start of the playback
	HasDuration bool
	Until       clock.Time
	HasUntil    bool
}

// until gives the last time that is played. At zero nothing is played: so says a duration of zero, and so it has
// always been with a zero request.
func (l Limit) until(start clock.Time) (last clock.Time, limited bool) {
	if l.HasDuration && l.Duration != 0 {
		last, limited = start.Add(l.Duration), true
	} else if l.HasDuration {
		limited = true
	}
	if l.HasUntil && (!limited || l.Until > last) {
		last, limited = l.Until, true
	}
	return last, limited
}

// DefaultReadAhead is how many bytes of messages wait in memory unless told otherwise.
const DefaultReadAhead = 64 << 20

// Options are the choices for a Player; the zero value plays everything once.
type Options struct {
	Mode        Mode
	Rate        float64 // 0 is 1
	StartPaused bool
	StartOffset time.Duration // from the start of the bag; also where each loop begins
	Delay       time.Duration // in wall time, before the first pass of each playback
	Limit       Limit         // of the playback that begins by itself; Play brings its own
	Loop        bool
	Order       storage.Order
	ReadAhead   int64 // bytes; 0 is DefaultReadAhead
	Latched     Latched
	Filter      Filter
	Overrides   map[string]qos.Override // by the recorded name of the topic

	ClockFrequency float64  // Hz of the periodic /clock; 0 is off
	ClockTopics    []string // before each message of these a /clock with its time goes out
	ClockAllTopics bool     // as if all topics were in ClockTopics

	// Changed, if not nil, is called after the rate or the clock frequency was changed, by whomever. It must not block.
	Changed func()

	Logger *zap.Logger  // nil logs nothing
	Steady clock.Steady // nil is the system's
}

// corrected gives the options with their defaults in place of what is missing or can not be; the latter with a
// warning, as it does not keep a bag from being played.
func (o Options) corrected(log *zap.Logger) Options {
	if o.StartOffset < 0 {
		log.Warn("Invalid start offset value: " + seconds(o.StartOffset) + ". Negative start offset ignored.")
		o.StartOffset = 0
	}
	if o.Delay < 0 {
		log.Warn("Invalid delay value: " + seconds(o.Delay) + ". Delay is disabled.")
		o.Delay = 0
	}
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.ReadAhead <= 0 {
		o.ReadAhead = DefaultReadAhead
	}
	return o
}

func seconds(d time.Duration) string { return number(d.Seconds()) }
