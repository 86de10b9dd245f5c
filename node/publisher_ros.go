//go:build ros

package node

/*
#include <stdlib.h>
#include "dataplane.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"rosbagd/storage/qos"
)

// Publisher publishes serialized messages of one topic.
type Publisher struct {
	node   *Node
	topic  string
	mu     sync.Mutex // guards handle; held while publishing
	handle *C.rbd_publisher_t
}

// CreatePublisher adds a serialized publisher. typ is "pkg/msg/Name", and its package need not be on this machine, see
// Describe; an error that wraps ErrNotInstalled means that the middleware does not work without.
func (n *Node) CreatePublisher(topic, typ string, profile qos.Profile) (*Publisher, error) {
	support, err := n.types.find(typ)
	if err != nil {
		return nil, err
	}
	name := C.CString(topic)
	defer C.free(unsafe.Pointer(name))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	cProfile := profileToC(profile)
	p := &Publisher{node: n, topic: topic}
	var e cError
	if C.rbd_publisher_create(n.handle, support, name, &cProfile, &p.handle, e.buffer()) != 0 {
		return nil, e.err("create publisher for " + topic)
	}
	n.publishers[p] = struct{}{}
	return p, nil
}

// Publish hands the bytes to the middleware as they lie: nothing is copied on our side, and data is not kept.
func (p *Publisher) Publish(data []byte) error {
	if len(data) == 0 {
		return errors.New("publish on " + p.topic + ": message is empty, not even an encapsulation header")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle == nil {
		return ErrClosed
	}
	var e cError
	if C.rbd_publish(p.handle, (*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), e.buffer()) != 0 {
		return e.err("publish on " + p.topic)
	}
	return nil
}

// Subscriptions is the number of subscriptions that are matched with p.
func (p *Publisher) Subscriptions() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle == nil {
		return 0, ErrClosed
	}
	var count C.size_t
	var e cError
	if C.rbd_publisher_subscriptions(p.handle, &count, e.buffer()) != 0 {
		return 0, e.err(fmt.Sprintf("look at %s", p.topic))
	}
	return int(count), nil
}

// WaitAcked waits until every matched reliable subscription has what was published, for timeout at most, and says
// whether they have. A publisher that is closed before loses what is still on its way.
func (p *Publisher) WaitAcked(timeout time.Duration) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle == nil {
		return false, ErrClosed
	}
	var acked C.int
	var e cError
	if C.rbd_publisher_wait_acked(p.handle, C.int64_t(timeout), &acked, e.buffer()) != 0 {
		return false, e.err("publish on " + p.topic)
	}
	return acked != 0, nil
}

// Close removes the publisher. A second Close does nothing.
func (p *Publisher) Close() error {
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	if p.node.closed {
		return nil
	}
	delete(p.node.publishers, p)
	return p.destroy()
}

func (p *Publisher) destroy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle == nil {
		return nil
	}
	var e cError
	failed := C.rbd_publisher_destroy(p.handle, e.buffer()) != 0
	p.handle = nil
	if failed {
		return e.err("close publisher of " + p.topic)
	}
	return nil
}
