//go:build ros

package test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlayTypes plays a recorded bag of many types to rclpy: every payload arrives as it was sent, in order, and latched
// messages reach who comes late.
func TestPlayTypes(t *testing.T) {
	w := newWorld(t)
	bag, sent := w.recordTraffic(t)
	wanted := sentByTopic(sent)

	peer := w.control(t)
	for topic, messages := range wanted {
		quality := fields{"reliability": offerOf(topic).Reliability, "durability": offerOf(topic).Durability}
		peer.subscribe(t, topic, messages[0].Type, quality)
	}
	player := w.rosbagd(t, "play", bag, "--start-paused")
	peer.matched(t, slices.Collect(maps.Keys(wanted))...)
	peer.call(t, "/rosbag2_player/resume", "Resume", nil)
	got := map[string][]message{}
	for topic, messages := range wanted {
		got[topic] = peer.await(t, topic, len(messages))
	}
	player.requireExit(t, 0, startDeadline)
	requireNoCrash(t, player)

	source := map[string]int64{}
	for topic, messages := range wanted {
		got[topic] = append(got[topic], peer.clear(t, topic)...)
		require.Len(t, got[topic], len(messages), topic)
		for i, one := range messages {
			require.Equal(t, shown(one.Data), shown(got[topic][i].Data), "payload %d of %s", i, topic)
			require.GreaterOrEqual(t, got[topic][i].Source, source[topic], "time of message %d of %s", i, topic)
			source[topic] = got[topic][i].Source
		}
	}
	requireSameOrder(t, w.mcapMessages(t, bag), got)
}

// requireSameOrder requires that the messages of all topics together went out in the order of the bag, as far as the
// bag says: by their received times.
func requireSameOrder(t *testing.T, recorded []mcapMessage, played map[string][]message) {
	t.Helper()
	next := map[string]int{}
	var lastLog, lastSource int64
	for _, one := range recorded {
		out := played[one.Topic][next[one.Topic]]
		next[one.Topic]++
		if one.LogNanos > lastLog {
			require.GreaterOrEqual(t, out.Source, lastSource, "%s went out before an earlier message", one.Topic)
		}
		lastLog, lastSource = max(lastLog, one.LogNanos), max(lastSource, out.Source)
	}
}

// TestPlayLatchedToLateJoiner plays to the end, then subscribes.
func TestPlayLatchedToLateJoiner(t *testing.T) {
	w := newWorld(t)
	bag, sent := w.recordTraffic(t)
	peer := w.control(t)
	player := w.rosbagd(t, "play", bag, "--start-paused")
	played := peer.call(t, "/rosbag2_player/burst", "Burst", fields{"num_messages": 0})
	require.EqualValues(t, len(sent), played["actually_burst"])

	peer.subscribe(t, latchedTopic, stringType, fields{"durability": "transient_local"})
	require.Equal(t, []string{"latched 0", "latched 1", "latched 2"}, texts(t, peer.await(t, latchedTopic, 3)))
	player.stop(t, 0)
}
