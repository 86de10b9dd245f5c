//go:build readers

package readers

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// python runs a script of this directory and decodes its lines.
func python[T any](t *testing.T, script string, arguments ...string) []T {
	t.Helper()
	interpreter, err := filepath.Abs(cmp.Or(os.Getenv("PYTHON"), "../../.ros/readers/bin/python"))
	require.NoError(t, err)
	require.FileExists(t, interpreter, "run `make test-readers`")
	command := exec.Command(interpreter, append([]string{script}, arguments...)...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	require.NoError(t, err, complaints.String())
	var found []T
	lines := json.NewDecoder(bufio.NewReader(bytes.NewReader(output)))
	for lines.More() {
		var one T
		require.NoError(t, lines.Decode(&one))
		found = append(found, one)
	}
	return found
}

// offer is a QoS profile with times in nanoseconds.
type offer struct {
	History     string `json:"history"`
	Depth       uint64 `json:"depth"`
	Reliability string `json:"reliability"`
	Durability  string `json:"durability"`
	Deadline    int64  `json:"deadline"`
	Lifespan    int64  `json:"lifespan"`
	Liveliness  string `json:"liveliness"`
	Lease       int64  `json:"lease"`
	Avoid       bool   `json:"avoid"`
}

// message is one message with its payload in base64.
type message struct {
	Topic    string `json:"topic"`
	Log      int64  `json:"log"`
	Publish  int64  `json:"publish,omitempty"`
	Sequence uint32 `json:"sequence,omitempty"`
	Data     []byte `json:"data"`
}
