//go:build ros

package test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockMessage is a serialized rosgraph_msgs/Clock.
func clockMessage(seconds uint32) []byte {
	data := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, seconds)
	return binary.LittleEndian.AppendUint32(data, 0)
}

// TestRecordSimTime records by the /clock of another node: nothing of before its first message but latched data, and each
// message at the time that was told when it came, also when time jumps back.
func TestRecordSimTime(t *testing.T) {
	const second = int64(time.Second)
	w := newWorld(t)
	bag := w.path("bag")
	peer := w.control(t)
	latched := fields{"durability": "transient_local", "depth": 1}
	peer.advertise(t, latchedTopic, stringType, latched)
	peer.advertise(t, chatterTopic, stringType, nil)
	peer.advertise(t, "/clock", "rosgraph_msgs/msg/Clock", nil)
	peer.publish(t, latchedTopic, stringMessage("map"), 0)
	recorder := w.record(t, bag, "--use-sim-time", chatterTopic, latchedTopic)
	recorder.waitLine(t, "waiting for /clock before starting recording", startDeadline)
	peer.publish(t, "/clock", clockMessage(0), 1)
	peer.publish(t, chatterTopic, stringMessage("before the first clock"), 0)
	found := func() bool { return strings.Contains(recorder.dump(), "Sim time /clock found, starting recording.") }
	for !found() { // the first ones may come before both sides know of each other
		peer.publish(t, "/clock", clockMessage(100), 1)
	}
	recorder.waitLines(t, "Subscribed to topic", 2, startDeadline)
	peer.do(t, command{"op": "acked", "topic": latchedTopic, "timeout": 20}, nil)
	say := func(text string) { peer.publish(t, chatterTopic, stringMessage(text), 1) }
	say("at 100")
	say("still at 100")
	peer.publish(t, "/clock", clockMessage(101), 1)
	say("at 101")
	peer.publish(t, "/clock", clockMessage(50), 1) // the simulation was reset
	say("at 50")
	peer.publish(t, "/clock", clockMessage(51), 1)
	say("at 51")
	recorder.stop(t, 0)
	requireNoCrash(t, recorder)

	at := map[string]int64{}
	recorded := w.mcapMessages(t, bag)
	for i, text := range texts(t, messagesOf(recorded)) {
		at[text] = recorded[i].LogNanos / second
		require.Zero(t, recorded[i].LogNanos%second)
		require.Greater(t, recorded[i].PublishNanos, 1_000_000_000*second, "sent by the clock of the machine")
	}
	require.Equal(t, map[string]int64{
		"map": 100, "at 100": 100, "still at 100": 100, "at 101": 101, "at 50": 50, "at 51": 51,
	}, at)
	information := readMetadata(t, bag).Information
	require.Equal(t, 50*second, information.Start.Nanos)
	require.Equal(t, 51*second, information.Duration.Nanos)
	require.Empty(t, information.Custom)
}
