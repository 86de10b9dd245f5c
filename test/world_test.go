//go:build ros

package test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/test/domain"
)

const (
	// startDeadline is for a process to come up on a busy machine, discovery included.
	startDeadline = 20 * time.Second
	// stopDeadline is for an orderly end.
	stopDeadline = 10 * time.Second
	// peerDeadline is for a peer to end before it is killed.
	peerDeadline = 2 * time.Second
	// readDeadline is for an independent reader to go through a bag.
	readDeadline = 10 * time.Minute
)

// world is where the processes of one test meet: a ROS domain, an environment and a directory.
type world struct {
	domain    int
	directory string
	environ   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	id, release, err := domain.Take()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, release()) })
	w := &world{domain: id, directory: t.TempDir()}
	logs := filepath.Join(w.directory, "ros-log")
	require.NoError(t, os.Mkdir(logs, 0o755))
	list := string(filepath.ListSeparator)
	w.environ = append(withoutROS(os.Environ()),
		"AMENT_PREFIX_PATH="+strings.Join(prefixes(), list),
		"ROS_DISTRO="+distro(),
		"ROS_DOMAIN_ID="+strconv.Itoa(w.domain),
		"ROS_LOCALHOST_ONLY=1",
		"ROS_LOG_DIR="+logs,
		"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONUNBUFFERED=1",
	)
	t.Cleanup(func() { removePorts(w.domain) }) // after the processes of the test were ended
	return w
}

// withoutROS drops what a user's shell may have set to steer ROS.
func withoutROS(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "ROS_") && !strings.HasPrefix(entry, "RMW_") && !strings.HasPrefix(entry, "AMENT_") &&
			!strings.HasPrefix(entry, "FASTRTPS_") && !strings.HasPrefix(entry, "FASTDDS_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// path is a place in the directory of the world.
func (w *world) path(elements ...string) string {
	return filepath.Join(append([]string{w.directory}, elements...)...)
}

// rosbagd starts the program under test.
func (w *world) rosbagd(t *testing.T, arguments ...string) *process {
	t.Helper()
	return w.launch(t, noInput, program(), arguments...)
}

// run runs the program to its end and requires an exit code.
func (w *world) run(t *testing.T, code int, arguments ...string) *process {
	t.Helper()
	p := w.rosbagd(t, arguments...)
	p.requireExit(t, code, startDeadline)
	return p
}

// script starts one of the Python peers.
func (w *world) script(t *testing.T, name string, arguments ...string) *process {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("peers", name))
	require.NoError(t, err)
	return w.launch(t, pipedInput, python(), append([]string{script}, arguments...)...)
}

// record starts `rosbagd record` into a directory of the world and waits until it records.
func (w *world) record(t *testing.T, bag string, arguments ...string) *process {
	t.Helper()
	p := w.rosbagd(t, append([]string{"record", "-o", bag}, arguments...)...)
	p.waitLine(t, `Recording\.\.\.`, startDeadline)
	return p
}

// statusBytes reads a size of /proc/PID/status.
func statusBytes(t *testing.T, pid int, field string) int64 {
	t.Helper()
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			require.NoError(t, err)
			return kilobytes * 1024
		}
	}
	require.FailNow(t, "no such field", "%s of process %d", field, pid)
	return 0
}

// openDescriptors is how many files, sockets and events a process holds.
func openDescriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	return len(entries)
}
