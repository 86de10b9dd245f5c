//go:build ros

package test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	clockTopic = "/clock"
	clockType  = "rosgraph_msgs/msg/Clock"
)

// TestPlayerClock watches /clock through a play: it begins at the start of the bag, stands still while paused, never
// goes back but by a seek, and does not run past the end.
func TestPlayerClock(t *testing.T) {
	w := newWorld(t)
	bag := w.makeBag(t, "counted", countMessages, countPeriod)
	peer := w.control(t)
	peer.subscribe(t, countTopic, stringType, nil)
	peer.subscribe(t, clockTopic, clockType, fields{"reliability": "best_effort"})
	player := w.rosbagd(t, "play", bag, "--start-paused", "--clock", "100")
	p := pausedPlayer{process: player, peer: peer, node: "/rosbag2_player"}
	peer.matched(t, countTopic)

	frozen := func(want int64) {
		t.Helper()
		for _, nanos := range clockNanos(t, peer.await(t, clockTopic, 10)) {
			require.Equal(t, want, nanos, "the clock moved while paused")
		}
	}
	frozen(bagStartNanos)

	p.call(t, "resume", "Resume", nil)
	running := clockNanos(t, peer.await(t, clockTopic, 50))
	p.call(t, "pause", "Pause", nil)
	running = append(running, clockNanos(t, peer.clear(t, clockTopic))...)
	require.True(t, slices.IsSorted(running), "the clock went back")
	require.Equal(t, bagStartNanos, running[0])
	require.Greater(t, running[len(running)-1], bagStartNanos)

	standing := clockNanos(t, peer.await(t, clockTopic, 5))
	require.GreaterOrEqual(t, standing[0], running[len(running)-1])
	frozen(standing[len(standing)-1])

	p.seek(t, 5*time.Second)
	peer.clear(t, clockTopic) // one of the time before may have been on its way
	peer.await(t, clockTopic, 2)
	frozen(bagStartNanos + (5 * time.Second).Nanoseconds())
	p.call(t, "play_next", "PlayNext", nil)
	p.call(t, "play_next", "PlayNext", nil)
	peer.await(t, clockTopic, 2)
	frozen(bagStartNanos + (5100 * time.Millisecond).Nanoseconds())

	p.seek(t, 9*time.Second)
	peer.await(t, clockTopic, 2)
	p.call(t, "resume", "Resume", nil)
	p.requireExit(t, 0, startDeadline)
	last := clockNanos(t, peer.clear(t, clockTopic))
	require.True(t, slices.IsSorted(last), "the clock went back")
	require.GreaterOrEqual(t, last[0], bagStartNanos+(9*time.Second).Nanoseconds())
}

// TestPlayerWithoutClock publishes no /clock unless it is told to.
func TestPlayerWithoutClock(t *testing.T) {
	w := newWorld(t)
	p := w.pausedPlayer(t)
	var offers []string
	p.peer.do(t, command{"op": "offers", "topic": clockTopic}, &offers)
	require.Empty(t, offers)
	p.stop(t, 0)
}
