//go:build ros

package node

// #include "dataplane.h"
import "C"

import "fmt"

// cError is the buffer into which our C functions write what went wrong.
type cError struct{ text [C.RBD_ERROR_SIZE]C.char }

func (e *cError) buffer() *C.char { return &e.text[0] }

func (e *cError) err(action string) error {
	return fmt.Errorf("%s: %s", action, cleanRCLError(C.GoString(&e.text[0])))
}
