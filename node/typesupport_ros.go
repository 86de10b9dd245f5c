//go:build ros

package node

/*
#include <stdlib.h>
#include "opaque.h"
#include "typesupport.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"
)

// typeSupports finds the type supports of installed packages, and makes those of others. The zero value is ready.
type typeSupports struct {
	mu    sync.Mutex                                  // guards what lies below
	known map[string]*C.rosidl_message_type_support_t // installed
	told  map[string]knownType                        // by type: what Describe was told
	made  map[opaqueKey]*C.rbd_opaque_t               // owned, until free
}

// load opens the library of a type's package. Failures are not kept: a package may be installed while we run.
func (t *typeSupports) load(typ string) (*C.rosidl_message_type_support_t, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if support, ok := t.known[typ]; ok {
		return support, nil
	}
	name, err := ParseTypeName(typ)
	if err != nil {
		return nil, err
	}
	library := C.CString(typeLibrary(name.Package))
	defer C.free(unsafe.Pointer(library))
	symbol := C.CString("rosidl_typesupport_c__get_message_type_support_handle__" + name.Package + "__" + name.Kind + "__" + name.Name)
	defer C.free(unsafe.Pointer(symbol))
	var support *C.rosidl_message_type_support_t
	var e cError
	if C.rbd_typesupport(library, symbol, &support, e.buffer()) != 0 {
		return nil, fmt.Errorf("type %s: %w (%s)", typ, ErrNotInstalled, C.GoString(e.buffer()))
	}
	if t.known == nil {
		t.known = map[string]*C.rosidl_message_type_support_t{}
	}
	t.known[typ] = support
	return support, nil
}

// typeLibrary is the path of a package's type support library, or its bare name for the dynamic linker to look for
// (LD_LIBRARY_PATH of a sourced ROS).
func typeLibrary(pkg string) string {
	file := "lib" + pkg + "__rosidl_typesupport_c.so"
	for _, prefix := range filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH")) {
		path := filepath.Join(prefix, "lib", file)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return file
}
