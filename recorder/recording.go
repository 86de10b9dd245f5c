package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"rosbagd/bag"
	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// lossLogInterval is the shortest time between two log lines about losses.
const lossLogInterval = time.Second

// recording is one bag from Record to Stop. The taking goroutine calls accept; the goroutines of run write and watch.
type recording struct {
	uri     string
	bag     Bag
	sweeps  *sweeps
	sim     *simTime // nil without a simulation
	log     *zap.Logger
	cache   *cache
	table   *table
	search  *discovery
	silence *silence

	takeMu sync.Mutex
	closed bool // guarded by takeMu: nothing is accepted any more
	// Guarded by takeMu, scratch of accept: the topic of each message, and those whose losses have changed.
	found, unsettled []*topic

	failure atomic.Pointer[error] // why the bag has failed
	sealing atomic.Bool           // from here on Seal tells what fails, not Run
	failed  func(error)           // is told once
	ended   func(lastFile string) // is told when the bag was sealed

	begun     chan struct{} // closed when what was asked for by name is subscribed, or waits for /clock
	searched  bool          // what was asked for by name is subscribed
	endWatch  context.CancelFunc
	watchDone chan struct{} // closed when discovery has ended
	done      chan struct{} // closed when the bag is sealed

	// Scratch of the writing goroutine: the messages of one Write and their topics.
	out     []storage.Message
	written []*topic
}

func newRecording(uri string, bag Bag, life *lifetime, opts Options, env Environment) *recording {
	r := &recording{
		uri: uri, bag: bag, sweeps: life.sweeps, sim: life.sim, log: env.Logger, table: newTable(env.Subscriber),
		begun: make(chan struct{}), watchDone: make(chan struct{}), done: make(chan struct{}),
	}
	r.cache = newCache(opts.MaxCacheSize, r.countDropped)
	r.silence = newSilence(env, opts.NodeName)
	r.search = newDiscovery(opts, env, r)
	return r
}

// accept takes a batch over. It never blocks for long, so that the middleware is emptied in time.
func (r *recording) accept(b *node.Batch, paused *pauseHistory) {
	r.takeMu.Lock()
	defer r.takeMu.Unlock()
	if r.closed {
		b.Release()
		return
	}
	r.sift(b, paused)
	if len(b.Messages) == 0 {
		b.Release()
		return
	}
	for i, tp := range r.found {
		tp.counters.received.Add(1)
		tp.counters.bytes.Add(uint64(len(b.Messages[i].Data)))
	}
	r.cache.push(b)
}

// sift removes messages that came twice, in a pause, or belong to no topic of this bag, counts losses, and leaves the
// topics of the others in r.found. Paused or not, sequence numbers are followed: what comes in a pause is not lost.
func (r *recording) sift(b *node.Batch, paused *pauseHistory) {
	r.found, r.unsettled = r.found[:0], r.unsettled[:0]
	for _, loss := range b.Losses {
		if from := r.table.find(loss.Subscription); from != nil {
			from.list()
			from.told += int64(loss.Count)
			r.unsettle(from.topic)
		}
	}
	kept := b.Messages[:0]
	var last node.SubscriptionID
	var from *source
	for i := range b.Messages {
		m := &b.Messages[i]
		if i == 0 || m.Subscription != last {
			last, from = m.Subscription, r.table.find(m.Subscription)
			if from != nil {
				from.list()
			}
		}
		if from == nil {
			continue
		}
		from.received.Add(1)
		tp := from.topic
		fresh, changed := tp.streams.see(m, from, tp.compare.Load())
		if changed {
			r.unsettle(tp)
		}
		if tp.streams.unnumbered && !tp.counters.unknown.Load() {
			tp.counters.unknown.Store(true)
		}
		if !fresh || paused.at(m.ReceivedNanos) {
			continue
		}
		at, known := r.sim.at(m.ReceivedNanos)
		if !known {
			continue
		}
		m.ReceivedNanos = at
		r.found = append(r.found, tp)
		kept = append(kept, *m)
	}
	b.Messages = kept
	for _, tp := range r.unsettled {
		tp.unsettled = false
		tp.settleLosses(b.TellsLosses)
	}
}

// unsettle notes a topic whose losses have changed in this batch.
func (r *recording) unsettle(tp *topic) {
	if !tp.unsettled {
		tp.unsettled = true
		r.unsettled = append(r.unsettled, tp)
	}
}

func (r *recording) countDropped(b *node.Batch) {
	for i := range b.Messages {
		if tp := r.table.topicOf(b.Messages[i].Subscription); tp != nil {
			tp.counters.dropped.Add(1)
		}
	}
}

// run writes until stop. Its errors are the bag's, which are kept in failure: one bag must not end the others.
func (r *recording) run(ctx context.Context) error {
	defer close(r.done)
	g, ctx := errgroup.WithContext(ctx)
	background, endBackground := context.WithCancel(ctx)
	defer endBackground()
	g.Go(func() error {
		if err := r.bag.Run(background); err != nil && !r.sealing.Load() {
			r.fail(err)
		}
		return nil
	})
	g.Go(func() error {
		defer endBackground()
		r.write(ctx)
		r.seal()
		return nil
	})
	return g.Wait()
}

// begin subscribes what was asked for by name. It belongs to Record until begun, then to the watching goroutine.
func (r *recording) begin(ctx context.Context) {
	r.searched = true
	if err := r.search.begin(ctx); err != nil && ctx.Err() == nil {
		r.log.Warn("graph did not settle", zap.Error(err))
	}
}

// watch follows the graph and reports losses until ctx ends.
func (r *recording) watch(ctx context.Context) error {
	defer close(r.watchDone)
	select {
	case <-r.begun:
	case <-ctx.Done():
		return nil
	}
	if !r.searched {
		select {
		case <-r.sim.found:
		case <-ctx.Done():
			return nil
		}
		r.log.Info("Sim time /clock found, starting recording.")
		r.begin(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		r.search.run(ctx)
		return nil
	})
	g.Go(func() error {
		r.silence.run(ctx)
		return nil
	})
	g.Go(func() error {
		ticker := time.NewTicker(lossLogInterval)
		defer ticker.Stop()
		var losses lossReporter
		for {
			select {
			case <-ticker.C:
				losses.look(r.log, r.table.stats())
			case <-ctx.Done():
				return nil
			}
		}
	})
	return g.Wait()
}

func (r *recording) write(ctx context.Context) {
	for {
		it, err := r.cache.pop(ctx)
		if err != nil {
			return
		}
		if it.order != nil {
			it.order()
			continue
		}
		r.writeBatch(it.batch)
		r.cache.done(it.batch)
	}
}

func (r *recording) writeBatch(b *node.Batch) {
	r.out, r.written = r.out[:0], r.written[:0]
	var last node.SubscriptionID
	var tp *topic
	for i := range b.Messages {
		m := &b.Messages[i]
		if i == 0 || m.Subscription != last {
			last, tp = m.Subscription, r.table.topicOf(m.Subscription)
		}
		if tp == nil || !tp.inBag || r.failure.Load() != nil {
			if tp != nil {
				tp.counters.dropped.Add(1)
			}
			continue
		}
		var sequence uint32
		if m.Sequence != node.NoSequence {
			sequence = uint32(m.Sequence) // the low 32 bits are what formats keep
		}
		r.out = append(r.out, storage.Message{
			Topic: tp.id, Sequence: sequence,
			LogTimeNanos: m.ReceivedNanos, PublishTimeNanos: m.SourceNanos, Data: m.Data,
		})
		r.written = append(r.written, tp)
	}
	if len(r.out) == 0 {
		return
	}
	r.countWritten(r.bag.Write(r.out))
}

// countWritten settles the messages of one Write. After a failure none of them counts as written: some may be in the
// file, but nobody knows which.
func (r *recording) countWritten(err error) {
	var rejected *storage.RejectedError
	switch {
	case err == nil:
	case errors.As(err, &rejected):
		for _, i := range rejected.Indexes {
			tp := r.written[i]
			tp.counters.dropped.Add(1)
			if !tp.rejected {
				tp.rejected = true
				r.log.Warn("message can not be written, more of this topic are only counted",
					zap.String("topic", tp.name), zap.Error(rejected.Err))
			}
			r.written[i] = nil
		}
	default:
		r.fail(err)
		for _, tp := range r.written {
			tp.counters.dropped.Add(1)
		}
		return
	}
	for _, tp := range r.written {
		if tp != nil {
			tp.counters.written.Add(1)
		}
	}
}

// fail ends the bag, not the process: everything after it counts as dropped. Only the first failure counts.
func (r *recording) fail(err error) {
	err = fmt.Errorf("write bag %s: %w", r.uri, err)
	if !r.failure.CompareAndSwap(nil, &err) {
		return
	}
	r.log.Error("bag has failed, messages are dropped from now on", zap.String("bag", r.uri), zap.Error(err))
	r.failed(err)
}

func (r *recording) err() error {
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// addTopic puts a topic into the bag before all messages that come from now on. A topic that the bag refuses costs that
// topic; whether the bag has failed shows at the next write.
func (r *recording) addTopic(tp *topic, meta storage.Topic) {
	r.cache.order(func() {
		if r.failure.Load() != nil {
			return
		}
		id, err := r.bag.AddTopic(meta)
		if err != nil {
			r.log.Error("topic is not recorded, its messages are dropped", zap.String("topic", meta.Name), zap.Error(err))
			return
		}
		tp.id, tp.inBag = id, true
	})
}

// updateTopic changes the offers that the bag keeps of a topic.
func (r *recording) updateTopic(tp *topic, offered []qos.Profile) {
	r.cache.order(func() {
		if r.failure.Load() != nil || !tp.inBag {
			return
		}
		if err := r.bag.UpdateTopic(tp.id, offered); err != nil {
			r.log.Warn("offers of a topic were not kept", zap.String("topic", tp.name), zap.Error(err))
		}
	})
}

// split goes on in a new file once everything received before is written, then calls done.
func (r *recording) split(done func(error)) {
	if !r.cache.order(func() {
		if err := r.err(); err != nil {
			done(err)
			return
		}
		_, _, err := r.bag.Split()
		if err != nil && !errors.Is(err, bag.ErrBusy) {
			r.fail(err)
		}
		done(err)
	}) {
		done(ErrNotRecording)
	}
}

// stop is the order of a shutdown: take no more, end discovery and subscriptions, drain, seal.
func (r *recording) stop() {
	r.takeMu.Lock()
	r.closed = true
	r.takeMu.Unlock()
	r.endWatch()
	<-r.watchDone
	r.search.types.end()
	if r.sim.started() {
		r.search.reportMissing()
	} else {
		r.log.Warn("nothing was recorded: no time of a simulation came on " + clockTopic + ", for which use_sim_time waits")
	}
	if err := r.table.unsubscribeAll(); err != nil {
		r.log.Warn("subscriptions did not end", zap.Error(err))
	}
	r.cache.close()
	<-r.done
}

// seal runs after the last message, on the writing goroutine.
func (r *recording) seal() {
	r.settle()
	stats := r.table.stats()
	for _, t := range stats {
		if t.incomplete() || t.LostUnknown {
			r.bag.SetCustomData(t.loss().Custom())
		}
	}
	r.sealing.Store(true)
	if err := r.bag.Seal(); err != nil {
		r.fail(err)
		r.settle()
	} else {
		r.ended(r.bag.CurrentFile()) // the name it has now that it may be compressed
	}
	reportLosses(r.log, r.uri, r.table.stats(), r.err() != nil)
}

// settle corrects the counts of a bag that has failed: what was given to it and is not in its files was lost here.
func (r *recording) settle() {
	if r.err() == nil {
		return
	}
	counts := r.bag.Counts()
	for _, tp := range r.table.all() {
		if !tp.inBag || int(tp.id) >= len(counts) {
			continue
		}
		if written := tp.counters.written.Load(); written > counts[tp.id] {
			tp.counters.dropped.Add(written - counts[tp.id])
			tp.counters.written.Store(counts[tp.id])
		}
	}
}
