package recorder

import (
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"
)

// TopicStats counts the messages of one topic in one bag. What subscriptions should have got is Written + Dropped +
// Lost once the bag is sealed; before that some are still in the cache. Messages that came while paused are in none of
// them.
type TopicStats struct {
	Topic    string
	Type     string
	Received uint64
	Bytes    uint64 // payloads of Received
	Written  uint64
	Dropped  uint64 // received, but not written: the cache was full or the storage failed
	Lost     uint64 // sent, but never received, by gaps in the publishers' sequence numbers
	// LostUnknown says that the middleware does not number messages, so that Lost says nothing.
	LostUnknown bool
}

// Result sums up all bags of one Run.
type Result struct {
	Bags     int
	Failed   int // bags among them that could not be finished, or not be written to the end
	Received uint64
	Written  uint64
	Dropped  uint64 // lost here
	Lost     uint64 // lost in transport
}

// LostHere says whether data was lost on this side: a process that ends with it should say so by its exit code.
func (r Result) LostHere() bool { return r.Dropped > 0 }

func (r *Result) add(topics []TopicStats) {
	for _, t := range topics {
		r.Received += t.Received
		r.Written += t.Written
		r.Dropped += t.Dropped
		r.Lost += t.Lost
	}
}

// counters are written by the taking and the writing goroutine and read by anybody.
type counters struct {
	received atomic.Uint64
	bytes    atomic.Uint64
	written  atomic.Uint64
	dropped  atomic.Uint64
	lost     atomic.Int64
	unknown  atomic.Bool
}

func (c *counters) stats(topic, typ string) TopicStats {
	return TopicStats{
		Topic: topic, Type: typ,
		Received: c.received.Load(), Bytes: c.bytes.Load(), Written: c.written.Load(), Dropped: c.dropped.Load(),
		Lost: uint64(max(c.lost.Load(), 0)), LostUnknown: c.unknown.Load(),
	}
}

// lossKey and lossText are how a bag's custom data tells the losses of a topic.
func lossKey(topic string) string { return "rosbagd.lost." + topic }

func lossText(t TopicStats) string { return fmt.Sprintf("dropped=%d lost=%d", t.Dropped, t.Lost) }

// reportLosses is the last word about a bag: a line per topic that is not whole, then the totals.
func reportLosses(log *zap.Logger, uri string, topics []TopicStats, failed bool) {
	var total Result
	total.add(topics)
	for _, t := range topics {
		if t.Dropped > 0 || t.Lost > 0 {
			log.Warn("topic is not complete", zap.String("topic", t.Topic),
				zap.Uint64("written", t.Written), zap.Uint64("dropped", t.Dropped), zap.Uint64("lost", t.Lost))
		}
		if t.LostUnknown {
			log.Debug("losses in transport are not known: no sequence numbers", zap.String("topic", t.Topic))
		}
	}
	verdict := "bag is complete"
	if failed {
		verdict = "bag ends where it failed"
	}
	log.Info(verdict, zap.String("bag", uri), zap.Int("topics", len(topics)),
		zap.Uint64("received", total.Received), zap.Uint64("written", total.Written),
		zap.Uint64("dropped", total.Dropped), zap.Uint64("lost", total.Lost))
}

// lossReporter logs the losses since its last look, so that a caller's ticker is the limit of its lines.
type lossReporter struct{ seen Result }

func (r *lossReporter) look(log *zap.Logger, topics []TopicStats) {
	var now Result
	now.add(topics)
	dropped, lost := increase(now.Dropped, r.seen.Dropped), increase(now.Lost, r.seen.Lost)
	r.seen = now
	if dropped > 0 || lost > 0 {
		log.Warn("messages were lost", zap.Uint64("dropped", dropped), zap.Uint64("lost", lost),
			zap.Uint64("dropped_total", now.Dropped), zap.Uint64("lost_total", now.Lost))
	}
}

// increase is 0 when a count has gone down: a message that was counted as lost came late.
func increase(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}
