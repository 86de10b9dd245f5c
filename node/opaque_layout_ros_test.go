//go:build ros

package node

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCallbacksAreLaidOutAsTheHeaderSays compares our table with the one of the ROS at hand, whose header only a C++
// compiler reads.
func TestCallbacksAreLaidOutAsTheHeaderSays(t *testing.T) {
	compile(t, "g++", "-std=c++17", "-x", "c++", `
#include <cstddef>
#include "opaque_callbacks.h"
#include <rosidl_typesupport_fastrtps_cpp/message_type_support.h>
using theirs = message_type_support_callbacks_t;
static_assert(offsetof(rbd_callbacks_t, message_namespace) == offsetof(theirs, message_namespace_));
static_assert(offsetof(rbd_callbacks_t, message_name) == offsetof(theirs, message_name_));
static_assert(offsetof(rbd_callbacks_t, cdr_serialize) == offsetof(theirs, cdr_serialize));
static_assert(offsetof(rbd_callbacks_t, cdr_deserialize) == offsetof(theirs, cdr_deserialize));
static_assert(offsetof(rbd_callbacks_t, get_serialized_size) == offsetof(theirs, get_serialized_size));
static_assert(offsetof(rbd_callbacks_t, max_serialized_size) == offsetof(theirs, max_serialized_size));
static_assert(sizeof(rbd_callbacks_t) >= sizeof(theirs));
`)
}

// TestLayoutWithoutDescriptionsCompiles keeps the older layout whole where the newer one is used.
func TestLayoutWithoutDescriptionsCompiles(t *testing.T) {
	compile(t, "gcc", "-std=c11", "-x", "c", "#include \"opaque_layout_named.h\"\n")
}

func compile(t *testing.T, compiler, standard, flag, language, source string) {
	t.Helper()
	arguments := append([]string{"-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", standard, "-iquote", "."},
		strings.Fields(os.Getenv("CGO_CFLAGS"))...)
	cmd := exec.Command(compiler, append(arguments, flag, language, "-")...)
	cmd.Stdin = strings.NewReader(source)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
}
