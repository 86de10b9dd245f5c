package recorder

import (
	"sync/atomic"

	"rosbagd/node"
)

// source is one subscription of a topic, with what it has lost. A topic has one for each class of publishers, and for a
// moment one more while a subscription takes the place of another.
//
// The gaps in the sequence numbers of publishers are what was lost; what the middleware tells of losses explains the
// part of them that was lost on the way. A gap that nothing explains arrived on this machine and was pushed out of the
// history of the subscription because it was not taken in time. A message that several subscriptions could have got
// counts for the strictest one that sees its publisher, so that it counts once. The other ones also tell of it, so that
// on a topic with several classes an overflow may pass for a loss in transport, but never the other way round; the sum
// is right in any case.
type source struct {
	topic    *topic
	id       node.SubscriptionID
	rank     int           // of its class
	received atomic.Uint64 // messages, those that another subscription had got too included

	// Of the taking goroutine.
	listed bool  // it is in topic.sources
	gaps   int64 // numbers missing of the publishers that count here
	told   int64 // lost on the way, as the middleware tells
}

// outranks says whether a publisher that both see counts here: by the stricter class, then by the newer subscription.
func (s *source) outranks(other *source) bool {
	return other == nil || s.rank > other.rank || (s.rank == other.rank && s.id > other.id)
}

// list makes the source count.
func (s *source) list() {
	if !s.listed {
		s.listed = true
		s.topic.sources = append(s.topic.sources, s)
	}
}

// settleLosses shares the gaps of a topic out: what was lost here, the rest in transport. Where the middleware tells no
// losses nobody knows, and no fault of ours is claimed. It belongs to the taking goroutine.
func (t *topic) settleLosses(told bool) {
	var here int64
	if told {
		for _, s := range t.sources {
			here += max(s.gaps-s.told, 0)
		}
	}
	missing := t.streams.missing
	here = max(min(here, missing), 0)
	t.counters.overflowed.Store(here)
	t.counters.lost.Store(missing - here)
}
