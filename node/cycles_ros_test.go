//go:build ros

package node

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

// footprint is what this process holds.
type footprint struct {
	resident    int64 // bytes
	threads     int
	descriptors int
}

func takeFootprint(t testing.TB) footprint {
	t.Helper()
	debug.FreeOSMemory() // what the collector keeps for later is no leak
	count := func(directory string) int {
		entries, err := os.ReadDir(directory)
		require.NoError(t, err)
		return len(entries)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(string(bytes.Fields(statm)[1]), 10, 64)
	require.NoError(t, err)
	return footprint{pages * int64(os.Getpagesize()), count("/proc/self/task"), count("/proc/self/fd")}
}

// Nodes that come, receive something and go leave neither memory nor threads nor descriptors behind.
func TestCyclesLeaveNothingBehind(t *testing.T) {
	const warmUp, cycles = 200, 100
	// Every thread of Fast DDS has a heap of its own, and the C library makes them one after the other: that is the
	// warm-up. A leak of the message of each cycle would be more than what is tolerated.
	const tolerated = 4 << 20
	ctx := deadline(t)
	payload := stringMessage(string(bytes.Repeat([]byte("x"), 100_000)))
	cycle := func() {
		n, err := Open(Options{Name: "cycle"})
		require.NoError(t, err)
		publisher, err := n.CreatePublisher("/cycle", "std_msgs/msg/String", qos.Default())
		require.NoError(t, err)
		id, err := n.Subscribe("/cycle", "std_msgs/msg/String", qos.Default())
		require.NoError(t, err)
		waitMatched(ctx, t, publisher, 1)
		require.NoError(t, publisher.Publish(payload))
		batch, err := n.Take(ctx)
		require.NoError(t, err)
		batch.Release()
		require.NoError(t, n.Unsubscribe(id))
		require.NoError(t, n.Close())
	}
	for range warmUp {
		cycle()
	}
	before := takeFootprint(t)
	for range cycles {
		cycle()
	}
	after := takeFootprint(t)
	t.Logf("before %+v, after %+v", before, after)
	require.LessOrEqual(t, after.descriptors, before.descriptors)
	require.LessOrEqual(t, after.threads, before.threads+2, "the Go runtime may have started another one")
	require.LessOrEqual(t, after.resident, before.resident+tolerated)
}
