//go:build ros

package node

// #include "serviceevent.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"
)

// ServiceEventReader reads the serialized events of services of one type. It may be used by several goroutines.
type ServiceEventReader struct {
	event   *typed
	request *typed
}

// ServiceEventReader makes a reader for the events of services of type typ: "pkg/srv/Name", or a service of an action
// ("pkg/action/Name_SendGoal"). An error that wraps ErrNotInstalled means that its package is not on this machine.
func (n *Node) ServiceEventReader(typ string) (*ServiceEventReader, error) {
	if _, err := loadService(typ); err != nil {
		return nil, err
	}
	event, err := n.types.loadTyped(typ + "_Event")
	if err != nil {
		return nil, err
	}
	request, err := n.types.loadTyped(typ + "_Request")
	if err != nil {
		return nil, err
	}
	return &ServiceEventReader{event: event, request: request}, nil
}

// Read reads one event. Nothing of it lies in data.
func (r *ServiceEventReader) Read(data []byte) (ServiceEvent, error) {
	message, err := r.event.read(data)
	if err != nil {
		return ServiceEvent{}, err
	}
	defer r.event.free(message)
	var found C.rbd_service_event_t
	var e cError
	if C.rbd_service_event(&r.event.c, message, &found, e.buffer()) != 0 {
		return ServiceEvent{}, e.err("read " + r.event.name)
	}
	read := ServiceEvent{
		Kind:       ServiceEventKind(found.kind),
		StampNanos: int64(found.sec)*int64(time.Second) + int64(found.nanosec),
		ClientGID:  *(*GID)(unsafe.Pointer(&found.gid)),
		Sequence:   int64(found.sequence),
	}
	if read.Kind > ResponseReceived {
		return ServiceEvent{}, fmt.Errorf("read %s: there is no event type %d", r.event.name, read.Kind)
	}
	if found.request != nil {
		if read.Request, err = r.request.write(found.request); err != nil {
			return ServiceEvent{}, err
		}
	}
	return read, nil
}
