//go:build ros

package node

/*
#include <stdlib.h>
#include "graph.h"
*/
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"
)

// Topics lists the topics of the graph with their types (more than one when nodes disagree).
func (n *Node) Topics() (map[string][]string, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return nil, ErrClosed
	}
	topics, err := n.ros.GetTopicNamesAndTypes(true)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", firstLine(err))
	}
	return topics, nil
}

// Publishers lists the publishers of a fully qualified topic.
func (n *Node) Publishers(topic string) ([]Endpoint, error) {
	return n.endpoints(topic, func(name *C.char, list **C.rbd_endpoint_t, count *C.size_t, text *C.char) C.int {
		return C.rbd_publishers(n.handle, name, list, count, text)
	})
}

// Subscriptions lists the subscriptions of a fully qualified topic.
func (n *Node) Subscriptions(topic string) ([]Endpoint, error) {
	return n.endpoints(topic, func(name *C.char, list **C.rbd_endpoint_t, count *C.size_t, text *C.char) C.int {
		return C.rbd_subscriptions(n.handle, name, list, count, text)
	})
}

func (n *Node) endpoints(
	topic string, get func(name *C.char, list **C.rbd_endpoint_t, count *C.size_t, text *C.char) C.int,
) ([]Endpoint, error) {
	name := C.CString(topic)
	defer C.free(unsafe.Pointer(name))
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return nil, ErrClosed
	}
	var list *C.rbd_endpoint_t
	var count C.size_t
	var e cError
	if get(name, &list, &count, e.buffer()) != 0 {
		return nil, e.err("look at topic " + topic)
	}
	defer C.rbd_endpoints_free(list, count)
	endpoints := make([]Endpoint, 0, int(count))
	for i := range unsafe.Slice(list, int(count)) {
		from := (*C.rbd_endpoint_t)(unsafe.Add(unsafe.Pointer(list), uintptr(i)*unsafe.Sizeof(*list)))
		endpoints = append(endpoints, Endpoint{
			NodeName:      C.GoString(from.node_name),
			NodeNamespace: C.GoString(from.node_namespace),
			Type:          C.GoString(from._type),
			TypeHash:      C.GoString(&from.hash[0]),
			GID:           *(*GID)(unsafe.Pointer(&from.gid)),
			QoS:           profileFromC(&from.qos),
		})
	}
	return endpoints, nil
}

// Changed waits until the graph changes and says whether it did, for timeout at most. It returns ctx's error when ctx
// ends first. One goroutine at a time waits, others wait for it.
func (n *Node) Changed(ctx context.Context, timeout time.Duration) (bool, error) {
	n.mu.RLock()
	wait, closed := n.graph, n.closed
	n.mu.RUnlock()
	if closed {
		return false, ErrClosed
	}
	n.watching.Lock() // a wait set is no place for two
	defer n.watching.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() {
		n.mu.RLock()
		defer n.mu.RUnlock()
		if n.graph != nil {
			C.rbd_graph_wake(n.graph)
		}
	})
	defer stop()
	var changed C.int
	var e cError
	if C.rbd_graph_wait_for(wait, C.int64_t(timeout), &changed, e.buffer()) != 0 {
		return false, e.err("watch graph")
	}
	return changed != 0, ctx.Err()
}
