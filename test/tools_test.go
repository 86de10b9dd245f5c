//go:build ros

package test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiling is held by the test that compiles: others that want the same tool wait, and find it made.
var compiling sync.Mutex

// tool compiles a C tool of tools/ against the ROS prefix and returns its path. The result is kept beside the prefix
// where that can be written, under a name that changes with the sources.
func tool(t *testing.T, name string) string {
	t.Helper()
	compiling.Lock()
	defer compiling.Unlock()
	sources, err := filepath.Glob(filepath.Join("tools", "*.[ch]"))
	require.NoError(t, err)
	sum := sha256.New()
	for _, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		_, _ = sum.Write(text)
	}
	for _, prefix := range prefixes() {
		_, _ = sum.Write([]byte(prefix))
	}
	first := prefixes()[0]
	directory := filepath.Join(filepath.Dir(first), "build", filepath.Base(first), "tools-"+hex.EncodeToString(sum.Sum(nil))[:12])
	if os.MkdirAll(directory, 0o755) != nil {
		directory = t.TempDir()
	}
	built := filepath.Join(directory, name)
	if _, err := os.Stat(built); err == nil {
		return built
	}
	// Another process may be at it as well: each writes a file of its own, and the last name given stays.
	unfinished := filepath.Join(directory, fmt.Sprintf("%s.part-%d", name, os.Getpid()))
	output, err := exec.Command("gcc", compilerArguments(name, unfinished)...).CombinedOutput()
	require.NoError(t, err, "compile %s:\n%s", name, output)
	require.NoError(t, os.Rename(unfinished, built))
	return built
}

func compilerArguments(name, output string) []string {
	arguments := []string{"-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-o", output, filepath.Join("tools", name+".c")}
	if name == "load" {
		arguments = append(arguments, filepath.Join("tools", "options.c"))
	}
	arguments = append(arguments, prefixArguments()...)
	return append(arguments, "-lrcl", "-lrmw", "-lrcutils", "-lrosidl_runtime_c",
		"-lstd_msgs__rosidl_typesupport_c", "-lstd_msgs__rosidl_generator_c")
}

// prefixArguments let the compiler find the headers and libraries of ROS, and the program find the libraries.
func prefixArguments() []string {
	var arguments []string
	for _, prefix := range prefixes() {
		includes, _ := filepath.Glob(filepath.Join(prefix, "include", "*")) // no such directory: the compiler will say it
		for _, include := range includes {
			arguments = append(arguments, "-isystem", include)
		}
		lib := filepath.Join(prefix, "lib")
		arguments = append(arguments, "-L"+lib, "-Wl,-rpath="+lib, "-Wl,-rpath-link="+lib)
	}
	return arguments
}

// load starts the load generator.
func (w *world) load(t *testing.T, arguments ...string) *process {
	t.Helper()
	return w.launch(t, pipedInput, tool(t, "load"), arguments...)
}

// loadTopics are the names of the first topics of the load generator.
func loadTopics(count int) []string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("/load/t%d", i))
	}
	return names
}

// sent is what the load generator says at its end.
type sent struct {
	Topics       int     `json:"topics"`
	Sent         int     `json:"sent"`
	Seconds      float64 `json:"seconds"`
	Acknowledged bool    `json:"acknowledged"`
	CPU          float64 `json:"cpu"`
}

func lastJSON(t *testing.T, p *process, into any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(p.text(stdout)), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), into), "%s\n%s", p.name, p.dump())
}
