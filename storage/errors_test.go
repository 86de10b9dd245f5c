package storage_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIsCorruptionAsksWhatAnErrorWraps(t *testing.T) {
	damage := &storage.CorruptionError{Path: "x", Err: io.ErrUnexpectedEOF}
	require.True(t, storage.IsCorruption(fmt.Errorf("read: %w", damage)))
	require.True(t, storage.IsCorruption(errors.Join(io.EOF, damage)))
	require.False(t, storage.IsCorruption(io.ErrUnexpectedEOF))
	require.False(t, storage.IsCorruption(nil))
}

// TestIsCorruptionCostsNothingWhereAllIsWell: readers ask for each message.
func TestIsCorruptionCostsNothingWhereAllIsWell(t *testing.T) {
	var err error
	found := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if storage.IsCorruption(err) {
			found++
		}
	}))
	require.Zero(t, found)
}

func TestWithoutPathLeavesTheReason(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := os.Open(missing)
	require.Equal(t, syscall.ENOENT, storage.WithoutPath(fmt.Errorf("open: %w", err)))
	require.Equal(t, syscall.ENOENT, storage.WithoutPath(os.Rename(missing, missing+"2")))
	require.Equal(t, io.EOF, storage.WithoutPath(io.EOF))
}
