package recorder

import (
	"time"

	"go.uber.org/zap"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

const (
	// MaxDepth is the most a subscription may ask for: Fast DDS keeps the oldest 5000 of a larger history, or of an
	// unlimited one, and rejects the rest without telling.
	MaxDepth = 5000
	// DefaultDepth is how many messages a subscription keeps between two looks at it. Memory is taken only for what is
	// really there, and a machine that does not schedule us for a while needs all it can get.
	DefaultDepth = MaxDepth
	// DefaultHistoryBytes is what the history of one subscription may hold, unless its publishers keep more: 40 images of
	// 6 MB, more than a second. It is only ever used up while a machine does not schedule us.
	DefaultHistoryBytes = 256 << 20

	// fitInterval is how often sizes are looked at: often enough for a history not to fill, and nothing among 500 topics.
	fitInterval = time.Second
	// sizeWindow is how long the sizes of messages are remembered, once or twice.
	sizeWindow = 10 * time.Second
	// growAfter is how long a history stays small before it may grow again: making subscriptions is not free.
	growAfter = 30 * time.Second
	// unprovenAfter is how long a subscription stays when neither it nor the one in its place gets anything.
	unprovenAfter = 5 * time.Second
)

// historyDepth is how deep a history may be: as many messages of size (0: not known) as fit into budget, limit at most,
// and what the publishers keep in any case.
func historyDepth(limit int, budget int64, size int64, keep int) int {
	depth := limit
	if size > 0 {
		depth = int(min(int64(depth), budget/size))
	}
	return min(max(depth, keep, 1), MaxDepth)
}

// keptBy is how many messages the publishers of a topic keep: the most of one of them, and all that late joiners get.
func keptBy(publishers []node.Endpoint) int {
	most, latched := 0, 0
	for _, p := range publishers {
		keeps := 1 // also where the depth is not told, as with Fast DDS
		if p.QoS.History == qos.KeepLast {
			keeps = max(keeps, min(p.QoS.Depth, MaxDepth))
		}
		most = max(most, keeps)
		if p.QoS.Durability == qos.TransientLocal {
			latched += keeps
		}
	}
	return min(max(most, latched), MaxDepth)
}

// traffic is what has come on a topic.
type traffic struct{ messages, bytes uint64 }

// sizes knows the mean size of the messages of the last while. The largest one would make the history of small messages
// short because of a single large one among them. It belongs to the watching goroutine.
type sizes struct {
	since       time.Time
	start, next traffic // where this window begins, and where the next one will
}

// look gives the mean size after all that has come until now, 0 when nothing has come lately.
func (s *sizes) look(now time.Time, all traffic) int64 {
	if now.Sub(s.since) >= sizeWindow {
		s.since, s.start, s.next = now, s.next, all
	}
	messages := all.messages - s.start.messages
	if messages == 0 {
		return 0
	}
	return int64((all.bytes - s.start.bytes + messages - 1) / messages)
}

// fitDepths gives each topic a history that fits the size of its messages. The depth of a subscription can not be
// changed: another one is made first, and the old one ends when that gets what it gets.
func (d *discovery) fitDepths(now time.Time) {
	if now.Sub(d.fitted) < fitInterval {
		return
	}
	d.fitted = now
	for _, w := range d.watched {
		w.endReplaced(d, now)
		size := w.sizes.look(now, traffic{w.counters.received.Load(), w.counters.bytes.Load()})
		if w.override != nil || len(w.replaced) > 0 {
			continue
		}
		for c, sub := range w.classes {
			want := historyDepth(d.opts.Depth, d.opts.HistoryBytes, size, w.keep)
			if !sub.misfits(want, w.keep, size, now) {
				continue
			}
			if err := d.replace(w, c, want, now); err != nil {
				d.warnOnce("depth of "+w.name, "history of a topic can not be fitted to its messages", zap.String("topic", w.name), zap.Error(err))
				continue
			}
			d.log.Debug("history was fitted to the size of messages", zap.String("topic", w.name),
				zap.Int64("bytes", size), zap.Int("depth", want))
		}
	}
}

// misfits says whether a depth of want is worth another subscription.
func (s *subscription) misfits(want, keep int, size int64, now time.Time) bool {
	switch {
	case !s.goneFrom.IsZero():
		return false
	case s.depth < keep, want <= s.depth/2:
		return true
	default:
		return size > 0 && want >= 2*s.depth && now.Sub(s.made) >= growAfter
	}
}

// replace makes a subscription of another depth beside the one of class c, which ends later.
func (d *discovery) replace(w *watched, c class, depth int, now time.Time) error {
	w.compare.Store(true)
	made, err := d.table.subscribe(w.topic, c.profile(depth), func() {})
	if err != nil {
		return err
	}
	old := w.classes[c]
	old.goneFrom = now
	next := &subscription{source: made, depth: depth, made: now}
	w.classes[c] = next
	w.replaced = append(w.replaced, replacement{old: old, next: next, received: old.received.Load()})
	return nil
}

// replacement is a subscription that is about to end because another one of its class took its place.
type replacement struct {
	old, next *subscription
	received  uint64 // by the old one until then
}

// over says whether the new subscription gets what the old one gets.
func (r replacement) over(now time.Time) bool {
	age := now.Sub(r.old.goneFrom)
	if r.next.received.Load() > 0 {
		return age >= retireAfter
	}
	return age >= unprovenAfter && r.old.received.Load() == r.received
}

// endReplaced ends the subscriptions whose place is taken.
func (w *watched) endReplaced(d *discovery, now time.Time) {
	kept := w.replaced[:0]
	for _, r := range w.replaced {
		if !r.over(now) {
			kept = append(kept, r)
			continue
		}
		if err := d.table.unsubscribe(r.old.id); err != nil {
			d.log.Warn("subscription did not end", zap.String("topic", w.name), zap.Error(err))
		}
	}
	w.replaced = kept
}
