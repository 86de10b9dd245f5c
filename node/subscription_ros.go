//go:build ros

package node

/*
#include <stdlib.h>
#include "dataplane.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"go.uber.org/zap"

	"rosbagd/storage/qos"
)

// Subscribe adds a serialized subscription. typ is "pkg/msg/Name" (also the event types of services and the parts of
// actions), and its package need not be on this machine, see Describe; an error that wraps ErrNotInstalled means that the
// middleware does not work without. topic is expanded and remapped like any name of the node. A history that the
// middleware can not hold is cut to the newest that it can.
func (n *Node) Subscribe(topic, typ string, profile qos.Profile) (SubscriptionID, error) {
	support, err := n.types.find(typ)
	if err != nil {
		return 0, err
	}
	name := C.CString(topic)
	defer C.free(unsafe.Pointer(name))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return 0, ErrClosed
	}
	n.lastID++
	id := n.lastID
	cProfile := profileToC(n.middleware.fit(profile))
	var subscription *C.rbd_subscription_t
	var watched C.rbd_watched_t
	var e cError
	if C.rbd_subscribe(
		n.plane, n.handle, support, name, &cProfile, C.uint32_t(id), &subscription, &watched, e.buffer()) != 0 {
		return 0, e.err(fmt.Sprintf("subscribe to %s", topic))
	}
	n.subscriptions[id] = subscription
	if watched.losses == 0 {
		n.silentLosses.Store(true)
	}
	if watched.polled != 0 {
		n.polled.Store(true)
	}
	return id, nil
}

// Unsubscribe removes a subscription. What it had received and Take had not given out is lost, so callers that
// replace a subscription add the new one first.
func (n *Node) Unsubscribe(id SubscriptionID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	subscription, ok := n.subscriptions[id]
	if !ok {
		return fmt.Errorf("unsubscribe: no subscription %d", id)
	}
	delete(n.subscriptions, id)
	var e cError
	if C.rbd_unsubscribe(n.plane, subscription, e.buffer()) != 0 {
		return e.err("unsubscribe")
	}
	return nil
}

// headers recycles the message slices of batches: at high rates they are most of what the collector sees.
var headers = sync.Pool{New: func() any { return new([]Message) }}

// Take waits for messages, lets more gather for the current interval and returns all there are, sorted by received
// time; a batch may also have losses only. It returns ctx's error when ctx ends first, and nil after a Flush that found
// nothing. The caller owns the batch.
func (n *Node) Take(ctx context.Context) (*Batch, error) {
	n.planeMu.RLock()
	plane := n.plane
	n.planeMu.RUnlock()
	if plane == nil {
		return nil, ErrClosed
	}
	stop := context.AfterFunc(ctx, n.wake)
	defer stop()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n.polled.Load() {
			n.sayPolled.Do(func() {
				n.Logger().Warn("middleware does not tell of new messages, looking for them at intervals",
					zap.String("middleware", n.middleware.Identifier))
			})
		}
		var batch C.rbd_batch_t
		var e cError
		failed := C.rbd_take(plane, &batch, e.buffer()) != 0
		if batch.count > 0 || batch.loss_count > 0 {
			// A failure is of one subscription; it comes again if it lasts, and then with nothing else to return.
			return n.newBatch(&batch), nil
		}
		if failed {
			return nil, e.err("take messages")
		}
		if flushes := n.flushes.Load(); flushes != n.flushed {
			n.flushed = flushes
			return nil, nil
		}
	}
}

// Flush makes Take return once more even without a message: with what has arrived until now, or with nil.
func (n *Node) Flush() {
	n.flushes.Add(1)
	n.wake()
}

// wake makes a waiting Take look at its context.
func (n *Node) wake() {
	n.planeMu.RLock()
	defer n.planeMu.RUnlock()
	if n.plane != nil {
		C.rbd_wake(n.plane)
	}
}

func (n *Node) newBatch(batch *C.rbd_batch_t) *Batch {
	slice := headers.Get().(*[]Message)
	messages := slices.Grow((*slice)[:0], int(batch.count))
	for i := range int(batch.count) {
		from := (*C.rbd_message_t)(unsafe.Add(unsafe.Pointer(batch.messages), uintptr(i)*unsafe.Sizeof(*batch.messages)))
		messages = append(messages, Message{
			Subscription:  SubscriptionID(from.subscription),
			ReceivedNanos: int64(from.received),
			SourceNanos:   int64(from.source),
			Sequence:      uint64(from.sequence),
			GID:           *(*GID)(unsafe.Pointer(&from.gid)),
			Data:          unsafe.Slice((*byte)(unsafe.Pointer(from.data)), int(from.size)),
		})
	}
	n.checkStamps(messages, int64(batch.began))
	complete(messages, n.middleware.Numbered, time.Now().UnixNano())
	n.arrivals.settle(messages)
	blocks := batch.blocks
	made := NewBatch(messages, int64(batch.bytes), func() {
		C.rbd_release(blocks)
		*slice = messages[:0]
		headers.Put(slice)
	})
	made.TellsLosses = !n.silentLosses.Load()
	for _, loss := range unsafe.Slice(batch.losses, int(batch.loss_count)) {
		made.Losses = append(made.Losses, Loss{SubscriptionID(loss.subscription), uint64(loss.count)})
	}
	return made
}

// gathers says whether messages are let gather before they are taken.
func (n *Node) gathers() bool { return C.rbd_gathers(n.plane) != 0 }

// checkStamps compares the first stamps with the rules for the middleware, says so in the log, and gives up gathering
// where stamps are made too late for it.
func (n *Node) checkStamps(messages []Message, began int64) {
	report, due := n.stamps.look(messages, began)
	if !due {
		return
	}
	log := n.Logger().With(
		zap.String("middleware", n.middleware.Identifier), zap.Stringer("stamped", report.Stamping),
		zap.Bool("gathered", n.gathers()), zap.Int("messages", report.Messages),
		zap.Bool("numbered", report.Unnumbered < report.Messages && n.middleware.Numbered),
		zap.Duration("received_after_sent", report.Delay), zap.Duration("taken_after_received", report.Wait))
	switch {
	case report.contradicts(n.middleware):
		C.rbd_take_on_wake(n.plane)
		log.Warn("received times are made when messages are taken, taking them at once from now on")
	case n.middleware.Known:
		log.Info("received times were checked")
	default:
		log.Info("received times were checked, messages of an unknown middleware are taken at once")
	}
}
