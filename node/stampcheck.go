package node

import (
	"slices"
	"time"
)

const (
	// checkedBatches are judged, and the delays of checkedMessages among them measured.
	checkedBatches  = 20
	checkedMessages = 1000
	// contradiction is the share of batches that must speak against the table. A single one may: a message that
	// arrives while others are taken has a late stamp rightly.
	contradiction = 0.9
)

// stampCheck looks at the stamps of the first messages, once: are they made at arrival or when taken, and how far are
// the clocks of the senders away. The zero value is ready.
type stampCheck struct {
	batches, late int
	messages      int
	unstamped     int
	unnumbered    int
	delays        []int64 // received after sent, ns
	waits         []int64 // taking began after received, ns
	over          bool
}

// stampReport is what the first messages have shown.
type stampReport struct {
	Stamping   Stamping
	Clear      bool // the batches agree
	Messages   int
	Unstamped  int           // messages without a received time
	Unnumbered int           // messages without a sequence number
	Delay      time.Duration // median of received after sent; negative when the clock of a sender is ahead
	Wait       time.Duration // median of taking after received
}

// contradicts says whether the stamps are made later than the rules for a middleware promise, so that messages must not
// gather. Stamps that are better than promised change nothing: what is known is kept to.
func (r stampReport) contradicts(m Middleware) bool {
	return m.Stamping == StampedAtArrival && r.Stamping == StampedAtTake && r.Clear
}

// look judges a batch whose taking began at began (ns since the epoch) and says whether the report is due now. The
// stamps are those of the middleware, zero where it made none.
func (c *stampCheck) look(messages []Message, began int64) (report stampReport, due bool) {
	if c.over || len(messages) == 0 {
		return stampReport{}, false
	}
	earliest := began
	for i := range messages {
		m := &messages[i]
		if m.Sequence == NoSequence {
			c.unnumbered++
		}
		if m.ReceivedNanos == 0 {
			c.unstamped++
			continue
		}
		earliest = min(earliest, m.ReceivedNanos)
		if len(c.waits) < checkedMessages {
			c.waits = append(c.waits, began-m.ReceivedNanos)
			if m.SourceNanos != 0 {
				c.delays = append(c.delays, m.ReceivedNanos-m.SourceNanos)
			}
		}
	}
	c.messages += len(messages)
	c.batches++
	// Something woke us, and it arrived before we began to take: with a stamp of its arrival it is earlier.
	if earliest == began {
		c.late++
	}
	if c.batches < checkedBatches {
		return stampReport{}, false
	}
	c.over = true
	lateShare := float64(c.late) / float64(c.batches)
	report = stampReport{
		Messages: c.messages, Unstamped: c.unstamped, Unnumbered: c.unnumbered,
		Delay: median(c.delays), Wait: median(c.waits),
		Clear: lateShare >= contradiction || lateShare <= 1-contradiction,
	}
	if lateShare < 0.5 {
		report.Stamping = StampedAtArrival
	}
	c.delays, c.waits = nil, nil
	return report, true
}

func median(nanos []int64) time.Duration {
	if len(nanos) == 0 {
		return 0
	}
	slices.Sort(nanos)
	return time.Duration(nanos[len(nanos)/2])
}
