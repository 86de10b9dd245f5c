package node

import (
	"cmp"
	"slices"
	"time"
)

const (
	// repairTime is how long the middleware may hold back what has arrived, until what was lost before it is sent
	// again. A stamp that is further behind is a clock that was set back.
	repairTime = 10 * time.Second
	// arrivalsKept bounds the publishers that are remembered: short-lived ones come and go for weeks.
	arrivalsKept = 4096
)

// arrivals keeps the messages of each publisher in order. The middleware gives them in the order in which they were
// sent, but stamps them when they arrive, and after a loss the later ones arrive before the repaired ones. By their
// stamps alone they would be recorded and played in another order than any subscription ever saw.
type arrivals struct {
	last map[arrivalKey]int64 // received time of the newest message, in nanoseconds
}

type arrivalKey struct {
	subscription SubscriptionID
	publisher    GID
}

// settle raises received times that are before those of earlier messages of the same publisher, then sorts by received
// time. messages are in the order in which they were taken.
func (a *arrivals) settle(messages []Message) {
	if len(a.last) > arrivalsKept || a.last == nil {
		a.last = map[arrivalKey]int64{}
	}
	var key arrivalKey
	var last int64
	sorted := true
	for i := range messages {
		m := &messages[i]
		if next := (arrivalKey{m.Subscription, m.GID}); i == 0 || next != key {
			if i > 0 {
				a.last[key] = last
			}
			key, last = next, a.last[next]
		}
		if behind := last - m.ReceivedNanos; behind > 0 && behind < int64(repairTime) {
			m.ReceivedNanos = last
		}
		last = m.ReceivedNanos
		if i > 0 && m.ReceivedNanos < messages[i-1].ReceivedNanos {
			sorted = false
		}
	}
	if len(messages) > 0 {
		a.last[key] = last
	}
	if !sorted {
		slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(a.ReceivedNanos, b.ReceivedNanos) })
	}
}

// complete puts in what the middleware leaves out: received times (now), sent times (the received ones), and the word
// for a number that it does not give. None that numbers messages begins with zero, but some leave it at that.
func complete(messages []Message, numbered bool, now int64) {
	for i := range messages {
		m := &messages[i]
		if m.ReceivedNanos == 0 {
			m.ReceivedNanos = now
		}
		if m.SourceNanos == 0 {
			m.SourceNanos = m.ReceivedNanos
		}
		if !numbered || m.Sequence == 0 {
			m.Sequence = NoSequence
		}
	}
}
