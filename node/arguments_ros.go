//go:build ros

package node

/*
#include <stdlib.h>
#include <rcl/arguments.h>
#include "dataplane.h"
*/
import "C"

import (
	"runtime"
	"strings"
	"unsafe"
)

// rosArguments are parsed ROS arguments.
type rosArguments struct{ parsed C.rcl_arguments_t }

// parseROSArgs parses what stands between --ros-args and --. It refuses what rclcpp refuses: rclgo passes unknown ROS
// arguments over in silence. The caller closes the result.
func parseROSArgs(rosArgs []string) (*rosArguments, error) {
	args := append([]string{"--ros-args"}, rosArgs...)
	array := (*[1 << 20]*C.char)(C.calloc(C.size_t(len(args)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))[:len(args):len(args)]
	defer C.free(unsafe.Pointer(&array[0]))
	for i, arg := range args {
		array[i] = C.CString(arg)
		defer C.free(unsafe.Pointer(array[i]))
	}
	// The text of an error belongs to the thread that it came up on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := &rosArguments{C.rcl_get_zero_initialized_arguments()}
	rc := C.rcl_parse_arguments(C.int(len(args)), &array[0], C.rcl_get_default_allocator(), &a.parsed)
	if rc != C.RCL_RET_OK {
		return nil, argumentError("invalid ROS arguments", rosArgs)
	}
	if unknown := a.unknown(args); len(unknown) > 0 {
		a.close()
		return nil, &ArgumentError{Text: "unknown ROS arguments: " + strings.Join(unknown, " ")}
	}
	return a, nil
}

func (a *rosArguments) close() { C.rcl_arguments_fini(&a.parsed) }

// unknown are those of args that were not understood.
func (a *rosArguments) unknown(args []string) []string {
	count := C.rcl_arguments_get_count_unparsed_ros(&a.parsed)
	if count <= 0 {
		return nil
	}
	var indices *C.int
	if C.rcl_arguments_get_unparsed_ros(&a.parsed, C.rcl_get_default_allocator(), &indices) != C.RCL_RET_OK {
		return args // out of memory: some of them
	}
	defer C.free(unsafe.Pointer(indices))
	var unknown []string
	for _, i := range unsafe.Slice(indices, int(count)) {
		unknown = append(unknown, args[i])
	}
	return unknown
}

// argumentError puts the last rcl error into words.
func argumentError(what string, rosArgs []string) error {
	var e cError
	cWhat := C.CString(what)
	defer C.free(unsafe.Pointer(cWhat))
	C.rbd_take_error(cWhat, e.buffer())
	return explainArgument(cleanRCLError(C.GoString(e.buffer())), rosArgs)
}
