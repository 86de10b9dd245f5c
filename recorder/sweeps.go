package recorder

import (
	"sync"
	"time"
)

// flushLimit bounds the wait for what had arrived when a bag ends: a middleware that hangs must not keep it open.
const flushLimit = time.Second

// sweeps counts how often the taking goroutine has emptied the middleware. The end of a bag waits for that: what
// arrived before the wish to stop belongs into it.
type sweeps struct {
	subscriber Subscriber
	ended      chan struct{} // closed when nobody takes any more

	mu   sync.Mutex
	next chan struct{} // guarded by mu: closed after the next sweep
}

func newSweeps(subscriber Subscriber) *sweeps {
	return &sweeps{subscriber: subscriber, ended: make(chan struct{}), next: make(chan struct{})}
}

// count is called by the taking goroutine after each sweep.
func (s *sweeps) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.next)
	s.next = make(chan struct{})
}

// finish waits for a whole sweep: the first to end may have begun before the call.
func (s *sweeps) finish() {
	limit := time.NewTimer(flushLimit)
	defer limit.Stop()
	for range 2 {
		s.mu.Lock()
		next := s.next
		s.mu.Unlock()
		s.subscriber.Flush()
		select {
		case <-next:
		case <-s.ended:
			return
		case <-limit.C:
			return
		}
	}
}
