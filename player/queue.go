package player

import (
	"context"
	"sync"

	"rosbagd/clock"
	"rosbagd/storage"
)

// item is a message that waits to be played.
type item struct {
	topic storage.TopicID
	due   clock.Time
	data  []byte
	extra bool // a latched message from before the start: published at once, not counted
}

// itemOverhead is what an item costs beside its payload, so that small messages are bounded too.
const itemOverhead = 64

func (it item) cost() int64 { return int64(len(it.data)) + itemOverhead }

// passage is a stretch of the bag to read. Each has its own epoch; what belongs to an older one is dropped.
type passage struct {
	epoch   uint64
	from    clock.Time
	until   clock.Time
	limited bool       // until counts
	empty   bool       // there is nothing to read
	latched clock.Time // the latched messages from before this come first; zero for none
}

// supply says what the queue has to give.
type supply int

const (
	reading supply = iota // nothing yet
	ready                 // a message
	ended                 // nothing any more
)

// queue lies between reading ahead and playing. One goroutine pushes, one pops, any may turn to another passage.
type queue struct {
	budget int64
	hungry func() // called when the player waits for a message and there is one, or there will be none
	room   chan struct{}

	mu      sync.Mutex
	passage passage
	items   []item
	first   int // the index of the next item; those before are gone
	bytes   int64
	ended   bool
	err     error // why it ended before the end of the bag
	waits   bool  // the player waits
	full    bool  // the reader waits
}

func newQueue(budget int64, hungry func()) *queue {
	return &queue{budget: budget, hungry: hungry, room: make(chan struct{}, 1)}
}

// turn drops everything and asks for another passage.
func (q *queue) turn(next passage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next.epoch = q.passage.epoch + 1
	q.passage = next
	q.items, q.first, q.bytes = nil, 0, 0
	q.ended, q.err = false, nil
	q.tellReader()
}

func (q *queue) tellReader() {
	select {
	case q.room <- struct{}{}:
	default:
	}
}

// next waits for a passage that is newer than the one given.
func (q *queue) next(ctx context.Context, after uint64) (passage, bool) {
	for {
		q.mu.Lock()
		p := q.passage
		q.mu.Unlock()
		if p.epoch > after {
			return p, true
		}
		select {
		case <-ctx.Done():
			return passage{}, false
		case <-q.room:
		}
	}
}

// push waits until there is room. A message larger than the budget passes when it is alone. It returns false when the
// passage is no longer wanted.
func (q *queue) push(ctx context.Context, epoch uint64, it item) bool {
	for {
		pushed, wanted := q.tryPush(epoch, it)
		if pushed || !wanted {
			return pushed
		}
		select {
		case <-ctx.Done():
			return false
		case <-q.room:
		}
	}
}

func (q *queue) tryPush(epoch uint64, it item) (pushed, wanted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch != q.passage.epoch {
		return false, false
	}
	if q.first < len(q.items) && q.bytes+it.cost() > q.budget {
		q.full = true
		return false, true
	}
	q.full = false
	q.items = append(q.items, it)
	q.bytes += it.cost()
	q.feed()
	return true, true
}

// end says that the passage has no more messages, because of err if not nil.
func (q *queue) end(epoch uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch == q.passage.epoch {
		q.ended, q.err = true, err
		q.feed()
	}
}

func (q *queue) feed() {
	if q.waits {
		q.waits = false
		q.hungry()
	}
}

// head gives the next item without taking it. After "reading", hungry is called once when that has changed.
func (q *queue) head() (item, uint64, supply) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.first < len(q.items):
		return q.items[q.first], q.passage.epoch, ready
	case q.ended:
		return item{}, q.passage.epoch, ended
	}
	q.waits = true
	return item{}, q.passage.epoch, reading
}

// pop takes the item that head gave, unless the passage has changed since.
func (q *queue) pop(epoch uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch != q.passage.epoch || q.first == len(q.items) {
		return false
	}
	q.bytes -= q.items[q.first].cost()
	q.items[q.first] = item{}
	q.first++
	switch {
	case q.first == len(q.items):
		q.items, q.first = q.items[:0], 0
	case q.first >= 1024 && q.first*2 >= len(q.items):
		kept := copy(q.items, q.items[q.first:])
		clear(q.items[kept:])
		q.items, q.first = q.items[:kept], 0
	}
	if q.full && q.bytes*10 < q.budget*9 {
		q.full = false
		q.tellReader()
	}
	return true
}

func (q *queue) epoch() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.passage.epoch
}

func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}
