//go:build ros

package test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecorderCycles records and stops a hundred times in one process, with a message each: it does not grow.
func TestRecorderCycles(t *testing.T) {
	const warmUp, cycles = 30, 100
	// A leak of the message of each cycle would be more than this.
	const tolerated = 6 * mebibyte
	w := newWorld(t)
	peer := w.control(t)
	peer.advertise(t, chatterTopic, stringType, nil)
	daemon := w.rosbagd(t, "recorder", "--idle", chatterTopic)
	peer.do(t, command{"op": "node", "name": "/recorder", "timeout": 20}, nil)
	payload := stringMessage(string(make([]byte, 100_000)))

	pid := daemon.cmd.Process.Pid
	threads := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		require.NoError(t, err)
		return len(entries)
	}
	var memory int64
	var before, descriptors int
	for i := range warmUp + cycles {
		if i == warmUp {
			memory, before, descriptors = statusBytes(t, pid, "VmRSS"), threads(), openDescriptors(t, pid)
		}
		require.Equal(t, done(), peer.call(t, "/recorder/record", "Record", fields{"uri": w.path(fmt.Sprintf("bag%d", i))}))
		peer.publish(t, chatterTopic, payload, 1)
		peer.call(t, "/recorder/stop", "Stop", nil)
		peer.do(t, command{"op": "alone", "topic": chatterTopic, "timeout": 20}, nil)
	}
	t.Logf("memory %d then %d KiB, threads %d then %d", memory/1024, statusBytes(t, pid, "VmRSS")/1024, before, threads())
	require.Equal(t, descriptors, openDescriptors(t, pid), "open descriptors")
	require.LessOrEqual(t, threads(), before+2, "the Go runtime may have started another one")
	require.LessOrEqual(t, statusBytes(t, pid, "VmRSS"), memory+tolerated, "resident memory in bytes")
	daemon.stop(t, 0)
	requireNoCrash(t, daemon)
	for i := range warmUp + cycles {
		require.Equal(t, 1, readMetadata(t, w.path(fmt.Sprintf("bag%d", i))).Information.Count)
	}
}
