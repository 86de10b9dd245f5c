//go:build ros

package node

/*
#include <stdlib.h>
#include <rcl/arguments.h>
#include "dataplane.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// checkROSArgs refuses what rclcpp refuses: rclgo passes unknown ROS arguments over in silence.
func checkROSArgs(rosArgs []string) error {
	args := append([]string{"--ros-args"}, rosArgs...)
	array := (*[1 << 20]*C.char)(C.calloc(C.size_t(len(args)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))[:len(args):len(args)]
	defer C.free(unsafe.Pointer(&array[0]))
	for i, arg := range args {
		array[i] = C.CString(arg)
		defer C.free(unsafe.Pointer(array[i]))
	}
	parsed := C.rcl_get_zero_initialized_arguments()
	rc := C.rcl_parse_arguments(C.int(len(args)), &array[0], C.rcl_get_default_allocator(), &parsed)
	if rc != C.RCL_RET_OK {
		return argumentError("invalid ROS arguments")
	}
	defer C.rcl_arguments_fini(&parsed)
	count := C.rcl_arguments_get_count_unparsed_ros(&parsed)
	if count <= 0 {
		return nil
	}
	var indices *C.int
	if C.rcl_arguments_get_unparsed_ros(&parsed, C.rcl_get_default_allocator(), &indices) != C.RCL_RET_OK {
		return argumentError("unknown ROS arguments")
	}
	defer C.free(unsafe.Pointer(indices))
	var unknown []string
	for _, i := range unsafe.Slice(indices, int(count)) {
		unknown = append(unknown, args[i])
	}
	return &ArgumentError{Text: fmt.Sprintf("unknown ROS arguments: %s", strings.Join(unknown, " "))}
}

// argumentError takes over the text of the last rcl error.
func argumentError(what string) error {
	var e cError
	cWhat := C.CString(what)
	defer C.free(unsafe.Pointer(cWhat))
	C.rbd_take_error(cWhat, e.buffer())
	return &ArgumentError{Text: cleanRCLError(C.GoString(e.buffer()))}
}
