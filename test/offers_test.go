//go:build ros

package test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func latchedQuality() fields {
	return fields{"durability": "transient_local", "reliability": "reliable"}
}

func sensorQuality() fields { return fields{"durability": "volatile", "reliability": "best_effort"} }

// numbered are texts with numbers.
func numbered(name string, count int) []string {
	var found []string
	for i := range count {
		found = append(found, fmt.Sprintf("%s %d", name, i))
	}
	return found
}

func (w *world) recordedTexts(t *testing.T, bag string) []string {
	t.Helper()
	var found []string
	for _, one := range w.mcapMessages(t, bag) {
		found = append(found, texts(t, []message{{Data: one.Data}})...)
	}
	return found
}

// TestMixedOffers records a topic with a latching publisher beside one of sensor data. One subscription that both can
// serve would not get what is latched; with two, what the first one sends comes twice. Everything is there once.
func TestMixedOffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	latching, sensing := w.control(t), w.control(t)
	latching.advertise(t, chatterTopic, stringType, latchedQuality())
	for _, text := range numbered("latched", 3) {
		latching.publish(t, chatterTopic, stringMessage(text), 0)
	}
	sensing.advertise(t, chatterTopic, stringType, sensorQuality())
	recorder := w.record(t, w.path("bag"), chatterTopic)
	sensing.endpoints(t, "subscriptions", chatterTopic, "rosbag2_recorder", 2)
	for i := range 20 {
		sensing.publish(t, chatterTopic, stringMessage(fmt.Sprint("sensed ", i)), 1)
		latching.publish(t, chatterTopic, stringMessage(fmt.Sprint("live ", i)), 2)
	}
	latching.do(t, command{"op": "acked", "topic": chatterTopic}, nil)
	recorder.stop(t, 0)

	want := slices.Concat(numbered("latched", 3), numbered("sensed", 20), numbered("live", 20))
	require.ElementsMatch(t, want, w.recordedTexts(t, w.path("bag")))
	require.ElementsMatch(t, []offer{
		{Reliability: "reliable", Durability: "transient_local"}, {Reliability: "best_effort", Durability: "volatile"},
	}, readMetadata(t, w.path("bag")).Information.Topics[0].Topic.Offers)
}

// TestOffersThatChange has publishers of other classes come and go beside one that never stops: the subscriptions
// follow, the new one before the old one ends, and the numbers of the one that stays are all there, each once.
func TestOffersThatChange(t *testing.T) {
	t.Parallel()
	const topic, recorder = "/load/t0", "rosbag2_recorder"
	w := newWorld(t)
	watcher, sensing := w.control(t), w.control(t)
	subscriptions := func(count int) {
		t.Helper()
		watcher.endpoints(t, "subscriptions", topic, recorder, count)
	}
	sensing.advertise(t, topic, stringType, sensorQuality())
	recording := w.record(t, w.path("bag"), topic)
	subscriptions(1) // best effort

	steady := w.load(t, "pub", "--rate", "500", "--count", "1000000")
	subscriptions(2) // and reliable
	require.NoError(t, sensing.stdin.Close())
	sensing.requireExit(t, 0, stopDeadline)
	subscriptions(1) // reliable only

	latching := w.control(t)
	latching.advertise(t, topic, stringType, latchedQuality())
	subscriptions(2) // and transient local
	require.NoError(t, latching.stdin.Close())
	latching.requireExit(t, 0, stopDeadline)
	subscriptions(1)

	steady.stop(t, 0)
	recording.stop(t, 0)
	got := w.mcapNumbers(t, w.path("bag"))[topic]
	require.Equal(t, numbers{Count: got.Last + 1, First: 0, Last: got.Last, LogNanos: got.LogNanos}, got)
	require.Positive(t, got.Last)
	require.NotContains(t, recording.text(stderr), "WARN] [rosbag2_recorder]")
}

// TestManyLatchedPublishers records 25 publishers of one topic, as /tf_static has them, each with one message. Played,
// all 25 are kept for who comes late.
func TestManyLatchedPublishers(t *testing.T) {
	t.Parallel()
	const topic, count = "/latched", 25
	w := newWorld(t)
	publishers := w.script(t, "latched.py", topic, strconv.Itoa(count))
	publishers.waitLine(t, "^latched$", startDeadline)
	peer := w.control(t)
	peer.advertise(t, chatterTopic, stringType, nil)
	recorder := w.record(t, w.path("bag"), "--topics", topic, chatterTopic)
	recorder.waitLines(t, "Subscribed to topic", 2, startDeadline)
	// What is latched is sent when a subscription is matched; the process of the publishers may be slower than we are.
	peer.subscribe(t, topic, stringType, latchedQuality())
	peer.await(t, topic, count)
	peer.publish(t, chatterTopic, stringMessage("end"), 1)
	recorder.stop(t, 0)
	require.NoError(t, publishers.stdin.Close())
	publishers.requireExit(t, 0, stopDeadline)
	require.Equal(t, map[string]int{topic: count, chatterTopic: 1}, w.requireExactMetadata(t, w.path("bag")))

	player := w.rosbagd(t, "play", w.path("bag"), "--start-paused")
	played := peer.call(t, "/rosbag2_player/burst", "Burst", fields{"num_messages": 0})
	require.EqualValues(t, count+1, played["actually_burst"])
	late := w.control(t)
	late.subscribe(t, topic, stringType, latchedQuality())
	require.ElementsMatch(t, numbered("latched", count), texts(t, late.await(t, topic, count)))
	player.stop(t, 0)
}
