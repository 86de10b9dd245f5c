//go:build ros

package test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quality is a publisher or a subscription as an rclpy node sees it in the graph; times are in nanoseconds.
type quality struct {
	Reliability string `json:"reliability"`
	Durability  string `json:"durability"`
	Liveliness  string `json:"liveliness"`
	Deadline    int64  `json:"deadline"`
	Lifespan    int64  `json:"lifespan"`
	Lease       int64  `json:"liveliness_lease_duration"`
}

// endless is the time that stands for none.
const endless = int64(9223372036854775807)

// endpoints waits until a node has so many publishers or subscriptions on a topic.
func (c *control) endpoints(t *testing.T, kind, topic, node string, count int) []quality {
	t.Helper()
	var found []quality
	c.do(t, command{"op": "endpoints", "topic": topic, "of": kind, "node": node, "count": count, "timeout": 20}, &found)
	return found
}

// requireQuality requires exactly one publisher or subscription of a node on a topic, of this quality.
func (c *control) requireQuality(t *testing.T, kind, topic, node string, want quality) {
	t.Helper()
	found := c.endpoints(t, kind, topic, node, 1)
	if kind == "subscriptions" {
		found[0].Lifespan = want.Lifespan // subscriptions have none
	}
	require.Equal(t, want, found[0], topic)
}

// overrideForms is a file with every form that a profile may have, and what it means by topic.
const overrideForms = `# a comment
/depth_only: {depth: 5}
/best_effort:  &sensor
  history: keep_last
  depth: 2
  reliability: best_effort
/alias: *sensor
/keep_all: {history: keep_all, durability: transient_local}
/everything:
  history: "keep_last"
  depth: 3
  reliability: 'reliable'
  durability: volatile
  deadline: {sec: 2, nsec: 500000000}
  lifespan:
    sec: 3
    nsec: 1
  liveliness: manual_by_topic
  liveliness_lease_duration: {nsec: 0, sec: 4}
  avoid_ros_namespace_conventions: false
/infinite:
  depth: 1
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 2147483647, nsec: 4294967295}
/system_default: {history: system_default, reliability: system_default, durability: system_default, liveliness: system_default}
`

func overrideMeanings() map[string]quality {
	usual := quality{
		Reliability: "reliable", Durability: "volatile", Liveliness: "automatic", Deadline: endless, Lifespan: endless, Lease: endless,
	}
	with := func(change func(*quality)) quality {
		changed := usual
		change(&changed)
		return changed
	}
	return map[string]quality{
		"/depth_only":  usual,
		"/best_effort": with(func(q *quality) { q.Reliability = "best_effort" }),
		"/alias":       with(func(q *quality) { q.Reliability = "best_effort" }),
		"/keep_all":    with(func(q *quality) { q.Durability = "transient_local" }),
		"/everything": with(func(q *quality) {
			q.Deadline, q.Lifespan, q.Lease = 2_500_000_000, 3_000_000_001, 4_000_000_000
			q.Liveliness = "manual_by_topic"
		}),
		"/infinite": usual,
	}
}

// TestOverridesOfSubscriptionsAndPublishers records and plays with a file of every form: the graph shows what it says.
func TestOverridesOfSubscriptionsAndPublishers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file, bag := w.path("overrides.yaml"), w.path("bag")
	require.NoError(t, os.WriteFile(file, []byte(overrideForms), 0o600))
	peer := w.control(t)
	meanings := overrideMeanings()
	topics := []string{"/system_default", "/usual"}
	for topic := range meanings {
		topics = append(topics, topic)
	}
	for _, topic := range topics {
		// What a publisher must offer so that the subscription of the file matches.
		offer := fields{"durability": meanings[topic].Durability, "reliability": meanings[topic].Reliability}
		if meanings[topic] == (quality{}) {
			offer = nil
		}
		peer.advertise(t, topic, stringType, offer)
	}

	recorder := w.record(t, bag, append([]string{"--qos-profile-overrides-path", file, "--topics"}, topics...)...)
	recorder.waitLines(t, "Subscribed to topic", len(topics), startDeadline)
	recorder.waitLines(t, "Overriding subscription profile for /", len(topics)-1, startDeadline)
	for _, topic := range topics {
		if topic != "/everything" { // the deadline of the file is shorter than that of the publisher: they do not match
			peer.publish(t, topic, stringMessage("recorded"), 1)
		}
	}
	for topic, meaning := range meanings {
		peer.requireQuality(t, "subscriptions", topic, "rosbag2_recorder", meaning)
	}
	recorder.stop(t, 0)
	counts := w.requireExactMetadata(t, bag)
	for _, topic := range topics {
		if topic != "/everything" {
			require.Equal(t, 1, counts[topic], topic)
		}
	}
	// A best-effort publisher and an override that fits it: data, and nothing to warn of.
	require.NotContains(t, recorder.text(stderr), "WARN] [rosbag2_recorder]")
	require.NotContains(t, recorder.text(stderr), "topic=/best_effort")

	player := w.rosbagd(t, "play", bag, "--start-paused", "--qos-profile-overrides-path", file)
	player.waitLines(t, "Overriding QoS profile for topic /", len(topics)-1, startDeadline)
	peer.do(t, command{"op": "node", "name": "/rosbag2_player", "timeout": 20}, nil)
	peer.matched(t, topics...)
	for topic, meaning := range meanings {
		peer.requireQuality(t, "publishers", topic, "rosbag2_player", meaning)
	}
	player.stop(t, 0)
}

// TestOverriddenHistoryIsUsedAsItIs plays ten messages on a topic whose publisher keeps three for late joiners.
func TestOverriddenHistoryIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := w.path("overrides.yaml")
	text := countTopic + ": {history: keep_last, depth: 3, reliability: reliable, durability: transient_local}\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	bag := w.makeBag(t, "counted", 10, time.Millisecond)
	peer := w.control(t)
	player := w.rosbagd(t, "play", bag, "--start-paused", "--qos-profile-overrides-path", file)
	played := peer.call(t, "/rosbag2_player/burst", "Burst", fields{"num_messages": 0})
	require.EqualValues(t, 10, played["actually_burst"])
	peer.subscribe(t, countTopic, stringType, fields{"durability": "transient_local"})
	require.Equal(t, []string{"7", "8", "9"}, texts(t, peer.await(t, countTopic, 3)))
	player.stop(t, 0)
}

// TestOverridesOfOwnTopics has the nodes' own topics obey the file too: /clock, and the events of splits in the
// namespace of the node.
func TestOverridesOfOwnTopics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := w.path("overrides.yaml")
	latched := "{depth: 4, reliability: reliable, durability: transient_local}\n"
	text := "/clock: " + latched + "/robot/events/write_split: " + latched + "/robot/events/read_split: " + latched
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	peer := w.control(t)
	usual := quality{
		Reliability: "reliable", Durability: "transient_local", Liveliness: "automatic", Deadline: endless, Lifespan: endless, Lease: endless,
	}
	namespace := []string{"--qos-profile-overrides-path", file, "--ros-args", "-r", "__ns:=/robot"}

	peer.advertise(t, chatterTopic, stringType, nil)
	recorder := w.record(t, w.path("bag"), append([]string{chatterTopic}, namespace...)...)
	recorder.waitLine(t, "Subscribed to topic", startDeadline)
	recorder.waitLine(t, "Overriding QoS profile for topic /robot/events/write_split", startDeadline)
	for i := range 3 {
		peer.publish(t, chatterTopic, stringMessage(fmt.Sprint(i)), 1)
		peer.call(t, "/robot/rosbag2_recorder/split_bagfile", "SplitBagfile", nil)
	}
	// Who comes late gets the events that are over.
	split := "/robot/events/write_split"
	peer.subscribe(t, split, "rosbag2_interfaces/msg/WriteSplitEvent", fields{"durability": "transient_local"})
	require.Len(t, peer.await(t, split, 3), 3)
	peer.requireQuality(t, "publishers", split, "rosbag2_recorder", usual)
	recorder.stop(t, 0)

	player := w.rosbagd(t, append([]string{"play", w.path("bag"), "--start-paused", "--clock", "10"}, namespace...)...)
	player.waitLine(t, "Overriding QoS profile for topic /clock", startDeadline)
	split = "/robot/events/read_split"
	played := peer.call(t, "/robot/rosbag2_player/burst", "Burst", fields{"num_messages": 0})
	require.EqualValues(t, 3, played["actually_burst"])
	peer.subscribe(t, split, "rosbag2_interfaces/msg/ReadSplitEvent", fields{"durability": "transient_local"})
	require.GreaterOrEqual(t, len(peer.await(t, split, 3)), 3)
	peer.subscribe(t, clockTopic, clockType, fields{"durability": "transient_local", "reliability": "reliable"})
	peer.await(t, clockTopic, 1)
	peer.requireQuality(t, "publishers", split, "rosbag2_player", usual)
	peer.requireQuality(t, "publishers", clockTopic, "rosbag2_player", usual)
	player.stop(t, 0)
}
