package recorder

import (
	"strconv"
	"sync/atomic"

	"go.uber.org/zap"

	"rosbagd/bag"
)

// TopicStats counts the messages of one topic in one bag. What was sent is Written + Dropped + Overflowed + Lost once
// the bag is sealed; before that some are still in the cache. It counts from the first message of a publisher that was
// received, and messages that came while paused are in none of them.
type TopicStats struct {
	Topic    string
	Type     string
	Received uint64
	Bytes    uint64 // payloads of Received
	Written  uint64
	Dropped  uint64 // received, but not written: the cache was full or the storage failed
	// Overflowed arrived, but were pushed out of the history of our subscription before they were taken.
	Overflowed uint64
	Lost       uint64 // sent, but never arrived: lost in transport, or overwritten by their publisher
	// LostUnknown says that the middleware does not number messages, so that Overflowed and Lost say nothing.
	LostUnknown bool
}

// Result sums up all bags of one Run.
type Result struct {
	Bags     int
	Failed   int // bags among them that could not be finished, or not be written to the end
	Received uint64
	Written  uint64

	// As in TopicStats: the first two were lost here, the last in transport.
	Dropped, Overflowed, Lost uint64
}

// LostHere says whether data was lost on this side: a process that ends with it should say so by its exit code.
func (r Result) LostHere() bool { return r.Dropped > 0 || r.Overflowed > 0 }

func (r *Result) add(topics []TopicStats) {
	for _, t := range topics {
		r.Received += t.Received
		r.Written += t.Written
		r.Dropped += t.Dropped
		r.Overflowed += t.Overflowed
		r.Lost += t.Lost
	}
}

// counters are written by the taking and the writing goroutine and read by anybody.
type counters struct {
	received   atomic.Uint64
	bytes      atomic.Uint64
	written    atomic.Uint64
	dropped    atomic.Uint64
	overflowed atomic.Int64
	lost       atomic.Int64
	unknown    atomic.Bool
}

func (c *counters) stats(topic, typ string) TopicStats {
	return TopicStats{
		Topic: topic, Type: typ,
		Received: c.received.Load(), Bytes: c.bytes.Load(), Written: c.written.Load(), Dropped: c.dropped.Load(),
		Overflowed: uint64(c.overflowed.Load()), Lost: uint64(max(c.lost.Load(), 0)), LostUnknown: c.unknown.Load(),
	}
}

// loss is what the bag keeps of the losses.
func (t TopicStats) loss() bag.Loss {
	return bag.Loss{
		Topic: t.Topic, Dropped: t.Dropped, Overflowed: t.Overflowed, Lost: t.Lost,
		OverflowedUnknown: t.LostUnknown && t.Overflowed == 0, LostUnknown: t.LostUnknown && t.Lost == 0,
	}
}

// count is a number of lost messages in words: without numbered messages zero means nothing.
func (t TopicStats) count(lost uint64) string {
	if t.LostUnknown && lost == 0 {
		return "unknown"
	}
	return strconv.FormatUint(lost, 10)
}

// incomplete says whether something of the topic is known to be missing.
func (t TopicStats) incomplete() bool { return t.Dropped > 0 || t.Overflowed > 0 || t.Lost > 0 }

// losses are the fields of a log line about the topic.
func (t TopicStats) losses() []zap.Field {
	return []zap.Field{
		zap.String("topic", t.Topic), zap.Uint64("written", t.Written), zap.Uint64("dropped", t.Dropped),
		zap.String("overflowed", t.count(t.Overflowed)), zap.String("lost", t.count(t.Lost)),
	}
}

// reportLosses is the last word about a bag: a line per topic that is not whole, then the totals.
func reportLosses(log *zap.Logger, uri string, topics []TopicStats, failed bool) {
	var total Result
	total.add(topics)
	unknown := 0
	for _, t := range topics {
		if t.incomplete() {
			log.Warn("topic is not complete", t.losses()...)
		}
		if t.LostUnknown {
			unknown++
		}
	}
	if unknown > 0 {
		log.Warn("what was lost before it was taken is not known: the middleware does not number messages", zap.Int("topics", unknown))
	}
	verdict := "bag is complete"
	if failed {
		verdict = "bag ends where it failed"
	}
	log.Info(verdict, zap.String("bag", uri), zap.Int("topics", len(topics)),
		zap.Uint64("received", total.Received), zap.Uint64("written", total.Written),
		zap.Uint64("dropped", total.Dropped), zap.Uint64("overflowed", total.Overflowed), zap.Uint64("lost", total.Lost))
}

// lossReporter logs the losses since its last look, so that a caller's ticker is the limit of its lines.
type lossReporter struct{ seen Result }

func (r *lossReporter) look(log *zap.Logger, topics []TopicStats) {
	var now Result
	now.add(topics)
	dropped, overflowed := increase(now.Dropped, r.seen.Dropped), increase(now.Overflowed, r.seen.Overflowed)
	lost := increase(now.Lost, r.seen.Lost)
	r.seen = now
	if dropped > 0 || overflowed > 0 || lost > 0 {
		log.Warn("messages were lost",
			zap.Uint64("dropped", dropped), zap.Uint64("overflowed", overflowed), zap.Uint64("lost", lost),
			zap.Uint64("dropped_total", now.Dropped), zap.Uint64("overflowed_total", now.Overflowed), zap.Uint64("lost_total", now.Lost))
	}
}

// increase is 0 when a count has gone down: a message that was counted as lost came late.
func increase(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}
