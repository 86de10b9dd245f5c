//go:build ros

package node

/*
#include <stdlib.h>
#include "opaque.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"rosbagd/msgs/definition"
)

// knownType is what Describe was told of a type, as far as it is of use.
type knownType struct {
	hash        string
	described   bool
	description definition.Description
	sources     []definition.Source
}

// opaqueKey tells type supports made at run time apart: a type may be announced with another hash, or with its
// description once that is known. What was made stays as it is, the middleware may use it.
type opaqueKey struct {
	typ, hash string
	described bool
}

// Describe tells what is known of a type, for subscriptions and publishers that are made from now on where its package
// is not installed. An error says why the definition can not be announced: the type can be used all the same, with its
// name and hash only.
func (n *Node) Describe(t Type) error { return n.types.describe(t) }

// Installed says whether the package of a type is on this machine.
func (n *Node) Installed(typ string) bool {
	_, err := n.types.load(typ)
	return err == nil
}

func (t *typeSupports) describe(typ Type) error {
	known := knownType{hash: typ.Hash}
	var failure error
	if typ.Definition.Encoding != "" {
		known.description, known.sources, failure = definition.Describe(typ.Name, typ.Definition)
		if failure == nil {
			failure = known.settle(typ)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told == nil {
		t.told = map[string]knownType{}
	}
	t.told[typ.Name] = known
	return failure
}

// settle lets the description count only under its own hash.
func (k *knownType) settle(typ Type) error {
	hash := k.description.Hash()
	if k.hash == "" {
		k.hash = hash
	}
	if k.hash != hash {
		return fmt.Errorf("describe %s: its definition has the hash %s, but the type has %s", typ.Name, hash, typ.Hash)
	}
	k.described = true
	return nil
}

// find gives the type support of an installed package, or else one made of what is known. An error wraps
// ErrNotInstalled where the middleware takes only the former.
func (t *typeSupports) find(typ string) (*C.rosidl_message_type_support_t, error) {
	support, err := t.load(typ)
	if !errors.Is(err, ErrNotInstalled) {
		return support, err
	}
	if C.rbd_opaque_fits() == 0 {
		return nil, fmt.Errorf("%w; only with rmw_fastrtps_cpp it could go without", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.told[typ]
	key := opaqueKey{typ: typ, hash: known.hash, described: known.described}
	made, ok := t.made[key]
	if !ok {
		if made, err = makeOpaque(typ, known); err != nil {
			return nil, err
		}
		if t.made == nil {
			t.made = map[opaqueKey]*C.rbd_opaque_t{}
		}
		t.made[key] = made
	}
	return C.rbd_opaque_support(made), nil
}

// free gives back what was made. The context of the node must be closed.
func (t *typeSupports) free() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, made := range t.made {
		C.rbd_opaque_free(made)
	}
	t.made = nil
}

func makeOpaque(typ string, known knownType) (*C.rbd_opaque_t, error) {
	name, err := ParseTypeName(typ)
	if err != nil {
		return nil, err
	}
	var texts cStrings
	defer texts.free()
	var made *C.rbd_opaque_t
	var e cError
	space := texts.add(name.Package + "::" + name.Kind)
	if C.rbd_opaque_create(space, texts.add(name.Name), texts.add(typ), texts.add(known.hash), &made, e.buffer()) != 0 {
		return nil, e.err("make type " + typ)
	}
	if known.described && fillOpaque(made, known, &texts, &e) != 0 {
		C.rbd_opaque_free(made)
		return nil, e.err("describe type " + typ)
	}
	return made, nil
}

func fillOpaque(made *C.rbd_opaque_t, known knownType, texts *cStrings, e *cError) C.int {
	types := append([]definition.Type{known.description.Type}, known.description.Referenced...)
	failed := C.rbd_opaque_describe(made, C.size_t(len(types)), C.size_t(len(known.sources)), e.buffer())
	for i := 0; i < len(types) && failed == 0; i++ {
		failed = C.rbd_opaque_type(made, C.size_t(i), texts.add(types[i].Name), C.size_t(len(types[i].Fields)), e.buffer())
		for j := 0; j < len(types[i].Fields) && failed == 0; j++ {
			f := types[i].Fields[j]
			failed = C.rbd_opaque_field(made, C.size_t(i), C.size_t(j), texts.add(f.Name), C.uint8_t(f.Type.ID),
				C.uint64_t(f.Type.Capacity), C.uint64_t(f.Type.StringCapacity), texts.add(f.Type.Nested), texts.add(f.Default), e.buffer())
		}
	}
	for i := 0; i < len(known.sources) && failed == 0; i++ {
		s := known.sources[i]
		failed = C.rbd_opaque_source(made, C.size_t(i), texts.add(s.TypeName), texts.add(s.Encoding), texts.add(s.Text), e.buffer())
	}
	return failed
}

// cStrings are texts for C that are freed together.
type cStrings []*C.char

func (s *cStrings) add(text string) *C.char {
	c := C.CString(text)
	*s = append(*s, c)
	return c
}

func (s *cStrings) free() {
	for _, c := range *s {
		C.free(unsafe.Pointer(c))
	}
}
