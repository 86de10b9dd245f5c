//go:build ros

package test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const chatterTopic = "/chatter"

// done is the response of the services that answer with a code.
func done() fields {
	return fields{"return_code": 0.0, "error_string": ""}
}

// TestRecorderDaemon records and stops ten times through the services of one long-running recorder: ten full bags.
func TestRecorderDaemon(t *testing.T) {
	const bags, messages = 10, 5
	w := newWorld(t)
	peer := w.control(t)
	peer.advertise(t, chatterTopic, stringType, nil)
	daemon := w.rosbagd(t, "recorder", "--idle", chatterTopic)
	peer.do(t, command{"op": "node", "name": "/recorder", "timeout": 20}, nil)

	descriptors := 0
	for i := range bags {
		bag := w.path(fmt.Sprintf("bag%d", i))
		require.Equal(t, done(), peer.call(t, "/recorder/record", "Record", fields{"uri": bag}))
		refused := peer.call(t, "/recorder/record", "Record", fields{"uri": w.path("other")})
		require.EqualValues(t, 1, refused["return_code"], "record while recording: %v", refused)
		require.NotEmpty(t, refused["error_string"])
		for number := range messages {
			peer.publish(t, chatterTopic, stringMessage(fmt.Sprintf("bag %d message %d", i, number)), 1)
		}
		peer.call(t, "/recorder/stop", "Stop", nil)
		// Otherwise the next first message could be meant for the subscription of this bag.
		peer.do(t, command{"op": "alone", "topic": chatterTopic, "timeout": 20}, nil)
		if i == 1 { // the first cycle may open what stays for good
			descriptors = openDescriptors(t, daemon.cmd.Process.Pid)
		}
	}
	require.Equal(t, descriptors, openDescriptors(t, daemon.cmd.Process.Pid), "open descriptors after the cycles")
	daemon.stop(t, 0)
	requireNoCrash(t, daemon)
	for i := range bags {
		bag := w.path(fmt.Sprintf("bag%d", i))
		require.Equal(t, map[string]int{chatterTopic: messages}, w.requireExactMetadata(t, bag), bag)
		for number, one := range w.mcapMessages(t, bag) {
			require.Equal(t, []string{fmt.Sprintf("bag %d message %d", i, number)}, texts(t, []message{{Data: one.Data}}))
		}
	}
	require.NoDirExists(t, w.path("other"))
}

// TestRecorderExistingDirectory records by service where a bag is already: beside it.
func TestRecorderExistingDirectory(t *testing.T) {
	w := newWorld(t)
	peer := w.control(t)
	bag := w.path("bag")
	daemon := w.rosbagd(t, "recorder", "--idle", chatterTopic)
	for range 3 {
		require.Equal(t, done(), peer.call(t, "/recorder/record", "Record", fields{"uri": bag}))
		peer.call(t, "/recorder/stop", "Stop", nil)
	}
	daemon.stop(t, 0)
	for _, name := range []string{"bag", "bag(1)", "bag(2)"} {
		require.FileExists(t, w.path(name, "metadata.yaml"))
	}
}

// TestRecorderPauseAndSplit drives a recording by service: what is sent in a pause is not in the bag, and a split cuts
// between two messages without losing one.
func TestRecorderPauseAndSplit(t *testing.T) {
	w := newWorld(t)
	bag := w.path("bag")
	peer := w.control(t)
	peer.advertise(t, chatterTopic, stringType, nil)
	peer.subscribe(t, "/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", nil)
	recorder := w.record(t, bag, chatterTopic)
	recorder.waitLine(t, "Subscribed to topic '/chatter'", startDeadline)
	peer.matched(t, "/events/write_split")
	call := func(service, kind string) fields { return peer.call(t, "/rosbag2_recorder/"+service, kind, nil) }
	say := func(text string) { peer.publish(t, chatterTopic, stringMessage(text), 1) }

	say("first file")
	call("split_bagfile", "SplitBagfile")
	peer.await(t, "/events/write_split", 1)
	say("second file")
	call("pause", "Pause")
	require.Equal(t, fields{"paused": true}, call("is_paused", "IsPaused"))
	say("in the pause")
	call("resume", "Resume")
	require.Equal(t, fields{"paused": false}, call("is_paused", "IsPaused"))
	say("after the pause")
	recorder.stop(t, 0)
	requireNoCrash(t, recorder)

	require.Equal(t, map[string]int{chatterTopic: 3}, w.requireExactMetadata(t, bag))
	require.Equal(t, []string{"bag_0.mcap", "bag_1.mcap"}, readMetadata(t, bag).Information.Paths)
	var got []string
	for _, name := range []string{"bag_0.mcap", "bag_1.mcap"} {
		reader := w.script(t, "read_mcap.py", "messages", filepath.Join(bag, name))
		reader.requireExit(t, 0, readDeadline)
		for _, one := range jsonLines[mcapMessage](t, reader.text(stdout)) {
			got = append(got, name+": "+texts(t, []message{{Data: one.Data}})[0])
		}
	}
	require.Equal(t, []string{"bag_0.mcap: first file", "bag_1.mcap: second file", "bag_1.mcap: after the pause"}, got)
}
