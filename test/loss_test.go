//go:build ros

package test

import (
	"cmp"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	mebibyte = int64(1) << 20
	// What the recorder may need besides its cache.
	ownMemory = 64 * mebibyte
	cacheSize = 100 * mebibyte
)

// load is numbered traffic on some topics, and how long it lasts.
type load struct {
	topics, rate, size int
	seconds            int
	// Samples that wait in the middleware between two looks of the recorder, and its pools for them: a reader keeps
	// room for as many as ever waited at once, here what arrives in a third of a second. Found as the peak of the
	// whole process: 43 MiB with the small messages, 63 MiB with the large ones.
	middleware int64
}

// TestNothingIsLost records loads with matched reliable publishers and finds every number in the bag, within a stated
// peak of memory.
func TestNothingIsLost(t *testing.T) {
	scale, err := loadScale()
	require.NoError(t, err)
	t.Run("100000 small messages on ten topics", func(t *testing.T) {
		recordLoad(t, load{topics: 10, rate: 1000, size: 100, seconds: 10 * scale, middleware: 4 * mebibyte}, nil)
	})
	t.Run("100 MB a second in messages of 1 MB", func(t *testing.T) {
		recordLoad(t, load{topics: 1, rate: 100, size: 1_000_000, seconds: 5 * scale, middleware: 32 * mebibyte}, nil)
	})
}

// TestSoak does the same for as long as SOAK says (5 s by default), with a split in the middle: memory does not grow
// with the bag.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "5s"))
	require.NoError(t, err, "SOAK is a duration, such as 10m")
	mixed := load{topics: 20, rate: 100, size: 1000, seconds: int(duration.Seconds()), middleware: 4 * mebibyte}
	recordLoad(t, mixed, func(t *testing.T, w *world) {
		w.control(t).call(t, "/rosbag2_recorder/split_bagfile", "SplitBagfile", nil)
	})
}

// recordLoad records a load, does something in the middle of it, and requires that nothing is missing.
func recordLoad(t *testing.T, l load, middle func(*testing.T, *world)) {
	t.Helper()
	w := newWorld(t)
	bag := w.path("load")
	count := l.rate * l.seconds
	recorder := w.record(t, bag, loadTopics(l.topics)...)
	publisher := w.load(t, "pub",
		"--topics", strconv.Itoa(l.topics), "--rate", strconv.Itoa(l.rate), "--size", strconv.Itoa(l.size),
		"--count", strconv.Itoa(count), "--mark", strconv.Itoa(count/2), "--depth", "1000")
	deadline := startDeadline + time.Duration(4*l.seconds)*time.Second
	publisher.waitLine(t, "^mark$", deadline)
	if middle != nil {
		middle(t, w)
	}
	publisher.requireExit(t, 0, deadline)
	var said sent
	lastJSON(t, publisher, &said)
	require.Equal(t, count*l.topics, said.Sent)
	require.True(t, said.Acknowledged, "the middleware did not deliver")

	peak := recorder.peakMemory(t)
	t.Logf("peak memory of the recorder %d MiB, publisher took %.1f s", peak/mebibyte, said.Seconds)
	recorder.stop(t, 0)
	require.LessOrEqual(t, peak, cacheSize+ownMemory+l.middleware, "peak memory in bytes")

	found := w.mcapNumbers(t, bag)
	require.Len(t, found, l.topics)
	for _, topic := range loadTopics(l.topics) {
		got := found[topic]
		got.LogNanos = 0
		require.Equal(t, numbers{Count: count, First: 0, Last: count - 1}, got, topic)
	}
	require.Equal(t, count*l.topics, readMetadata(t, bag).Information.Count)
}
