//go:build ros

package node

/*
#include <stdlib.h>
#include "typed.h"
#include "typesupport.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"
)

// typed is an installed message type with the layout of its C struct.
type typed struct {
	name string
	c    C.rbd_type_t
}

// loadTyped finds an installed type; an error wraps ErrNotInstalled where its package is not there.
func (t *typeSupports) loadTyped(typ string) (*typed, error) {
	support, err := t.load(typ)
	if err != nil {
		return nil, err
	}
	found := &typed{name: typ}
	var e cError
	if C.rbd_type_of(support, &found.c, e.buffer()) != 0 {
		return nil, e.err("type " + typ)
	}
	return found, nil
}

// loadCall finds the two messages of a service type.
func (t *typeSupports) loadCall(typ string) (request, response *typed, err error) {
	if request, err = t.loadTyped(typ + "_Request"); err != nil {
		return nil, nil, err
	}
	if response, err = t.loadTyped(typ + "_Response"); err != nil {
		return nil, nil, err
	}
	return request, response, nil
}

// loadService finds the type support of an installed service type, "pkg/srv/Name" or a service of an action.
func loadService(typ string) (*C.rosidl_service_type_support_t, error) {
	name, err := ParseTypeName(typ)
	if err != nil {
		return nil, err
	}
	if name.Kind == "msg" {
		return nil, fmt.Errorf("type %s is not a service", typ)
	}
	library := C.CString(typeLibrary(name.Package))
	defer C.free(unsafe.Pointer(library))
	symbol := C.CString("rosidl_typesupport_c__get_service_type_support_handle__" + name.Package + "__" + name.Kind + "__" + name.Name)
	defer C.free(unsafe.Pointer(symbol))
	var support *C.rosidl_service_type_support_t
	var e cError
	if C.rbd_service_typesupport(library, symbol, &support, e.buffer()) != 0 {
		return nil, fmt.Errorf("type %s: %w (%s)", typ, ErrNotInstalled, C.GoString(e.buffer()))
	}
	return support, nil
}

// read makes the message that the bytes hold; the caller gives it back to free.
func (t *typed) read(data []byte) (unsafe.Pointer, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("read %s: no bytes, not even an encapsulation header", t.name)
	}
	var message unsafe.Pointer
	var e cError
	if C.rbd_typed_read(&t.c, (*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), &message, e.buffer()) != 0 {
		return nil, e.err("read " + t.name)
	}
	return message, nil
}

// write serializes a message, encapsulation header included.
func (t *typed) write(message unsafe.Pointer) ([]byte, error) {
	var bytes C.rbd_bytes_t
	var e cError
	if C.rbd_typed_write(&t.c, message, &bytes, e.buffer()) != 0 {
		return nil, e.err("write " + t.name)
	}
	defer C.rbd_bytes_free(&bytes)
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(bytes.data)), int(bytes.size))), nil
}

// make gives an empty message; the caller gives it back to free.
func (t *typed) make() (unsafe.Pointer, error) {
	message := C.rbd_typed_new(&t.c)
	if message == nil {
		return nil, fmt.Errorf("make %s: out of memory", t.name)
	}
	return message, nil
}

func (t *typed) free(message unsafe.Pointer) { C.rbd_typed_free(&t.c, message) }
