package recorder

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"rosbagd/node"
)

// tinyCacheBytes is what a MaxCacheSize of 0 means: enough for what one look at the middleware usually gives.
const tinyCacheBytes = 1 << 20

// errDrained is returned by pop after close, once everything is taken out.
var errDrained = errors.New("cache is closed and empty")

// item is a batch to write, or an order for the writing goroutine that must keep its place among the batches.
type item struct {
	batch *node.Batch
	order func()
}

// cache stands between the goroutine that takes messages and the one that writes them. Batches are queued whole. Its
// budget covers all that is not yet written: what is queued and what pop has handed out until done. A batch is
// accepted while that sum is below the budget before it, so that the budget is exceeded by one batch at most.
//
// The memory of a batch is released exactly once: by done, or by push when it refuses.
type cache struct {
	limit   int64
	dropped func(*node.Batch) // counts what a full cache refuses

	mu     sync.Mutex
	queue  []item // guarded by mu
	bytes  int64  // guarded by mu
	closed bool   // guarded by mu

	wake chan struct{} // has a token when pop should look again
}

func newCache(maxBytes int64, dropped func(*node.Batch)) *cache {
	if maxBytes <= 0 {
		maxBytes = tinyCacheBytes
	}
	return &cache{limit: maxBytes, dropped: dropped, wake: make(chan struct{}, 1)}
}

// cost is the memory that b holds, with the headers of its messages, which are most of it when messages are small.
func cost(b *node.Batch) int64 {
	return b.Bytes + int64(len(b.Messages))*int64(unsafe.Sizeof(node.Message{}))
}

// push queues b, or drops it when the cache is full. It never blocks. The caller must not touch b afterwards.
func (c *cache) push(b *node.Batch) bool {
	c.mu.Lock()
	if c.closed || c.bytes >= c.limit {
		c.mu.Unlock()
		c.dropped(b)
		b.Release()
		return false
	}
	c.bytes += cost(b)
	c.queue = append(c.queue, item{batch: b})
	c.mu.Unlock()
	c.signal()
	return true
}

// order queues f behind everything pushed so far, however full the cache is. It says whether f will run.
func (c *cache) order(f func()) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.queue = append(c.queue, item{order: f})
	c.mu.Unlock()
	c.signal()
	return true
}

// pop waits for the oldest item. After close it still gives what is queued, then errDrained.
func (c *cache) pop(ctx context.Context) (item, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			it := c.queue[0]
			c.queue[0] = item{} // do not hold a batch through the array
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return it, nil
		}
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return item{}, errDrained
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return item{}, ctx.Err()
		}
	}
}

// done gives the memory of a batch from pop back.
func (c *cache) done(b *node.Batch) {
	n := cost(b)
	b.Release()
	c.mu.Lock()
	c.bytes -= n
	c.mu.Unlock()
}

// close refuses everything from now on; what is queued can still be taken out.
func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.signal()
}

func (c *cache) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
