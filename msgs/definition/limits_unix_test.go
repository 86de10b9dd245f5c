//go:build unix

package definition

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPipe is not waited for.
func TestPipe(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "demo", "msg")
	require.NoError(t, os.MkdirAll(directory, 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "Pipe.msg"), 0o644))
	_, err := NewFinderIn([]string{filepath.Dir(filepath.Dir(directory))}).Definition("demo/msg/Pipe")
	require.ErrorIs(t, err, errNoFile)
}
