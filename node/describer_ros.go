//go:build ros

package node

/*
#include "describer.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"

	"rosbagd/msgs/definition"
	"rosbagd/node/param"
)

// describer is the service ~/get_type_description of a node, which answers while Run runs.
type describer struct {
	event  eventfd // signalled when requests are there, and to end describe
	handle *C.rbd_describer_t
}

// openDescriber offers the service; nil where the distro, or this machine, has no such service type, or where the
// parameter that every node has for it says no.
func (n *Node) openDescriber(parameters *param.Store) (*describer, error) {
	if C.rbd_describer_exists() == 0 {
		return nil, nil
	}
	wanted, err := parameters.Declare(param.Declaration{
		Name: "start_type_description_service", Value: param.Of(true), Descriptor: param.Descriptor{
			Description: "offer ~/get_type_description", ReadOnly: "the service is there or not from the start of the node",
		},
	})
	if err != nil {
		return nil, &ArgumentError{Text: err.Error()}
	}
	if !wanted.Equal(param.Of(true)) {
		return nil, nil
	}
	request, response, err := n.types.loadCall(definition.InquiryType)
	if errors.Is(err, ErrNotInstalled) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	event, err := newEventfd()
	if err != nil {
		return nil, fmt.Errorf("describe types: %w", err)
	}
	d := &describer{event: event}
	var e cError
	if C.rbd_describer_create(n.handle, &request.c, &response.c, event.fd, &d.handle, e.buffer()) != 0 {
		return nil, errors.Join(e.err("describe types"), d.event.close())
	}
	return d, nil
}

// describe answers requests until ctx ends.
func (n *Node) describe(ctx context.Context) {
	d := n.describer
	if d == nil {
		return
	}
	stop := context.AfterFunc(ctx, d.event.signal)
	defer stop()
	for ctx.Err() == nil {
		if err := n.answerDescriptions(); err != nil {
			n.ros.Logger().Debugf("%v", err) //nolint:errcheck // nothing to do about a log line
		}
		// What came since the answers has signalled: nothing is slept through.
		if err := d.event.wait(); err != nil {
			return
		}
	}
}

// answerDescriptions keeps everybody from creating anything on the node meanwhile.
func (n *Node) answerDescriptions() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var e cError
	if C.rbd_describer_answer(n.describer.handle, e.buffer()) != 0 {
		return e.err("describe types")
	}
	return nil
}

// close ends the service. Nobody is in describe any more; the descriptor outlives what signals it.
func (d *describer) close() error {
	C.rbd_describer_destroy(d.handle)
	return d.event.close()
}
