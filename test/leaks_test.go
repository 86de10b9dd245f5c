//go:build ros

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCCodeLeaksNothing runs the C code of node/ without Go, under the checkers for leaks, bad addresses and undefined
// behaviour: Go's own memory would hide leaks from the first.
func TestCCodeLeaksNothing(t *testing.T) {
	w := newWorld(t)
	program := w.path("lifecycle")
	output, err := exec.Command("gcc", lifecycleArguments(t, program)...).CombinedOutput()
	require.NoError(t, err, "compile lifecycle:\n%s", output)
	var libraries []string
	for _, prefix := range prefixes() {
		libraries = append(libraries, filepath.Join(prefix, "lib"))
	}
	w.environ = append(w.environ,
		// The checkers look through calls of dlopen, which then no longer searches the program's run path.
		"LD_LIBRARY_PATH="+strings.Join(append(libraries, os.Getenv("LD_LIBRARY_PATH")), ":"),
		// The libraries of ROS have no frame pointers: unwound fast, a leak would have half a stack.
		"ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0",
		"UBSAN_OPTIONS=print_stacktrace=1",
	)
	p := w.launch(t, noInput, program)
	p.requireExit(t, 0, 2*time.Minute)
	require.Equal(t, "lifecycle: 3 rounds\n", p.text(stdout))
}

func lifecycleArguments(t *testing.T, output string) []string {
	t.Helper()
	arguments := []string{
		"-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror",
		"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", output, "-iquote", "../node",
		filepath.Join("tools", "lifecycle.c"),
	}
	sources, err := filepath.Glob("../node/*.c")
	require.NoError(t, err)
	return append(append(append(arguments, sources...), prefixArguments()...), nodeLibraries(t)...)
}

// nodeLibraries are those that the package node links, and the middleware, which rclgo links.
func nodeLibraries(t *testing.T) []string {
	t.Helper()
	directive := regexp.MustCompile(`(?m)^#cgo LDFLAGS: (.*)$`)
	libraries := []string{"-lrmw_implementation"}
	sources, err := filepath.Glob("../node/*.go")
	require.NoError(t, err)
	for _, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for _, found := range directive.FindAllStringSubmatch(string(text), -1) {
			libraries = append(libraries, strings.Fields(found[1])...)
		}
	}
	return libraries
}
