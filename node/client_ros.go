//go:build ros

package node

/*
#include <stdlib.h>
#include "client.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"rosbagd/storage/qos"
)

// Client calls one service with serialized requests. Any number of goroutines may use it at the same time.
//
// Nobody takes responses but the calls that wait for one: one of them at a time has the turn, takes whatever comes
// and hands it to whom it belongs.
type Client struct {
	node     *Node
	service  string
	request  *typed
	response *typed
	event    eventfd       // signalled when responses are there, when a call gives up and by Close
	turn     chan struct{} // capacity 1: held by the call that takes

	mu      sync.Mutex              // guards what lies below; held by every call into C
	handle  *C.rbd_client_t         // nil once closed
	waiting map[int64]chan<- answer // calls under way by sequence number; each channel has room for its answer
}

type answer struct {
	data []byte
	err  error
}

// CreateClient adds a client of any installed service type: "pkg/srv/Name", or a service of an action
// ("pkg/action/Name_SendGoal"). An error that wraps ErrNotInstalled means that its package is not on this machine.
// name is expanded and remapped like any name of the node. The depth of profile is how many responses may come at once:
// calls beyond it that are answered in the same moment may wait in vain.
func (n *Node) CreateClient(name, typ string, profile qos.Profile) (*Client, error) {
	support, err := loadService(typ)
	if err != nil {
		return nil, err
	}
	request, response, err := n.types.loadCall(typ)
	if err != nil {
		return nil, err
	}
	event, err := newEventfd()
	if err != nil {
		return nil, fmt.Errorf("create client of %s: %w", name, err)
	}
	c := &Client{
		node: n, service: name, request: request, response: response,
		event: event, turn: make(chan struct{}, 1), waiting: map[int64]chan<- answer{},
	}
	if err := c.open(support, profile); err != nil {
		return nil, errors.Join(err, c.event.close())
	}
	return c, nil
}

func (c *Client) open(support *C.rosidl_service_type_support_t, profile qos.Profile) error {
	name := C.CString(c.service)
	defer C.free(unsafe.Pointer(name))
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if c.node.closed {
		return ErrClosed
	}
	cProfile := profileToC(profile)
	var e cError
	if C.rbd_client_create(c.node.handle, support, name, &cProfile, c.event.fd, &c.handle, e.buffer()) != 0 {
		return e.err("create client of " + c.service)
	}
	c.node.clients[c] = struct{}{}
	return nil
}

// Ready says whether a server is there. A request that is sent before is lost.
func (c *Client) Ready() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == nil {
		return false, ErrClosed
	}
	var ready C.int
	var e cError
	if C.rbd_client_ready(c.handle, &ready, e.buffer()) != 0 {
		return false, e.err("look at service " + c.service)
	}
	return ready != 0, nil
}

// Call sends a serialized request and waits for the response. Both are CDR with its encapsulation header of 4 bytes.
// It returns ctx's error when ctx ends first; the response is dropped then.
func (c *Client) Call(ctx context.Context, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := make(chan answer, 1)
	sequence, err := c.send(request, mine)
	if err != nil {
		return nil, err
	}
	defer c.forget(sequence)
	for {
		select {
		case got := <-mine:
			return got.data, got.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case c.turn <- struct{}{}:
			err := c.takeUntil(ctx, mine)
			<-c.turn
			if err != nil {
				return nil, err
			}
		}
	}
}

// Send sends a serialized request without waiting; its response is dropped. The sequence number is what the events of
// the service show for it.
func (c *Client) Send(request []byte) (sequence int64, err error) {
	return c.send(request, nil)
}

// send registers who waits for the answer before the answer can come.
func (c *Client) send(request []byte, waiting chan<- answer) (int64, error) {
	message, err := c.request.read(request)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", c.service, err)
	}
	defer c.request.free(message)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == nil {
		return 0, ErrClosed
	}
	// Answers that nobody waits for must not fill the history.
	c.takeAll()
	var sequence C.int64_t
	var e cError
	if C.rbd_client_send(c.handle, message, &sequence, e.buffer()) != 0 {
		return 0, e.err("call " + c.service)
	}
	if waiting != nil {
		c.waiting[int64(sequence)] = waiting
	}
	return int64(sequence), nil
}

func (c *Client) forget(sequence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, sequence)
}

// takeUntil hands out responses until mine has one or ctx ends.
func (c *Client) takeUntil(ctx context.Context, mine <-chan answer) error {
	stop := context.AfterFunc(ctx, c.wake)
	defer stop()
	for {
		c.mu.Lock()
		closed := c.handle == nil
		if !closed {
			c.takeAll()
		}
		c.mu.Unlock()
		if closed || len(mine) > 0 || ctx.Err() != nil {
			return nil // Call sees which; Close has answered every call
		}
		// What came since the take has signalled: nothing is slept through.
		if err := c.event.wait(); err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("wait for response of %s: %w", c.service, err)
		}
	}
}

// takeAll hands out the responses that are there. c.mu is held.
func (c *Client) takeAll() {
	for {
		got, sequence, taken, err := c.takeOne()
		if err != nil {
			// Whose it was is not known: nobody must wait for it in vain.
			c.failAll(err)
			return
		}
		if !taken {
			return
		}
		if waiting, ok := c.waiting[sequence]; ok {
			delete(c.waiting, sequence)
			waiting <- got
		}
	}
}

func (c *Client) takeOne() (got answer, sequence int64, taken bool, err error) {
	message, err := c.response.make()
	if err != nil {
		return answer{}, 0, false, err
	}
	defer c.response.free(message)
	var number C.int64_t
	var took C.int
	var e cError
	if C.rbd_client_take(c.handle, message, &number, &took, e.buffer()) != 0 {
		return answer{}, 0, false, e.err("call " + c.service)
	}
	if took == 0 {
		return answer{}, 0, false, nil
	}
	got.data, got.err = c.response.write(message)
	return got, int64(number), true, nil
}

func (c *Client) failAll(err error) {
	for sequence, waiting := range c.waiting {
		delete(c.waiting, sequence)
		waiting <- answer{err: err}
	}
}

// wake makes the call that takes look at its context.
func (c *Client) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle != nil {
		c.event.signal()
	}
}

// Close removes the client; calls that are under way end with ErrClosed. A second Close does nothing.
func (c *Client) Close() error {
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if c.node.closed {
		return nil
	}
	delete(c.node.clients, c)
	return c.destroy()
}

func (c *Client) destroy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == nil {
		return nil
	}
	c.failAll(ErrClosed)
	var e cError
	failed := C.rbd_client_destroy(c.handle, e.buffer()) != 0
	c.handle = nil
	// Ends the read of the call that takes. Only now: the middleware signals this descriptor until the client is gone.
	err := c.event.close()
	if failed {
		return e.err("close client of " + c.service)
	}
	return err
}
