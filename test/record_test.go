//go:build ros

package test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const (
	latchedTopic = "/e2e/latched"
	imuTopic     = "/e2e/imu"
	wideTopic    = "/e2e/wstrings"
	rounds       = 12
)

// sentMessage is a line of what publish_types.py noted.
type sentMessage struct {
	Topic       string `json:"topic"`
	Type        string `json:"type"`
	Data        string `json:"data"`
	BeforeNanos int64  `json:"before"`
	AfterNanos  int64  `json:"after"`
}

// trafficTopics are those of peers/traffic.py.
func trafficTopics() []string {
	return []string{
		latchedTopic, imuTopic, wideTopic, "/e2e/cloud", "/e2e/image", "/e2e/arrays", "/e2e/basic_types",
		"/e2e/bounded_plain_sequences", "/e2e/bounded_sequences", "/e2e/builtins", "/e2e/defaults", "/e2e/empty",
		"/e2e/multi_nested", "/e2e/nested", "/e2e/strings", "/e2e/unbounded_sequences",
	}
}

// recordTraffic records one run of publish_types.py and returns the bag and what was sent.
func (w *world) recordTraffic(t *testing.T) (string, []sentMessage) {
	t.Helper()
	notes, bag := w.path("sent.jsonl"), w.path("traffic")
	publisher := w.script(t, "publish_types.py", notes, strconv.Itoa(rounds))
	publisher.waitLine(t, "^latched$", startDeadline)
	recorder := w.record(t, bag, append([]string{"--topics"}, trafficTopics()...)...)
	publisher.waitLine(t, "^sent$", 60*time.Second)
	recorder.stop(t, 0)
	recorder.waitLine(t, "Recording stopped", stopDeadline)
	requireNoCrash(t, recorder)
	require.NoError(t, publisher.stdin.Close())
	publisher.requireExit(t, 0, stopDeadline)
	text, err := os.ReadFile(notes)
	require.NoError(t, err)
	return bag, jsonLines[sentMessage](t, string(text))
}

func sentByTopic(sent []sentMessage) map[string][]sentMessage {
	found := map[string][]sentMessage{}
	for _, one := range sent {
		found[one.Topic] = append(found[one.Topic], one)
	}
	return found
}

// TestRecordTypes records messages of many types and compares each byte and time with what was sent, as three
// independent readers see the bag.
func TestRecordTypes(t *testing.T) {
	w := newWorld(t)
	begin := time.Now().UnixNano()
	bag, sent := w.recordTraffic(t)
	end := time.Now().UnixNano()
	wanted := sentByTopic(sent)
	require.Len(t, wanted, len(trafficTopics()))

	t.Run("mcap library", func(t *testing.T) {
		found := map[string][]mcapMessage{}
		for _, one := range w.mcapMessages(t, bag) {
			found[one.Topic] = append(found[one.Topic], one)
		}
		require.Len(t, found, len(wanted))
		for topic, messages := range wanted {
			require.Len(t, found[topic], len(messages), topic)
			for i, one := range messages {
				got := found[topic][i]
				require.Equal(t, shown(one.Data), shown(got.Data), "payload %d of %s", i, topic)
				require.Equal(t, one.Type, got.Type)
				require.Equal(t, "cdr", got.Encoding)
				require.GreaterOrEqual(t, got.PublishNanos, one.BeforeNanos, "sent time %d of %s", i, topic)
				require.LessOrEqual(t, got.PublishNanos, one.AfterNanos, "sent time %d of %s", i, topic)
				require.GreaterOrEqual(t, got.LogNanos, got.PublishNanos, "received time %d of %s", i, topic)
				require.GreaterOrEqual(t, got.LogNanos, begin)
				require.LessOrEqual(t, got.LogNanos, end)
			}
			requireChannel(t, found[topic][0])
		}
	})

	t.Run("metadata.yaml", func(t *testing.T) {
		w.requireExactMetadata(t, bag)
		information := readMetadata(t, bag).Information
		require.Equal(t, "mcap", information.Storage)
		require.Equal(t, len(sent), information.Count)
		require.Equal(t, distro(), information.Distro)
		require.GreaterOrEqual(t, information.Start.Nanos, begin)
		require.LessOrEqual(t, information.Start.Nanos+information.Duration.Nanos, end)
		require.Len(t, information.Topics, len(wanted))
		for _, topic := range information.Topics {
			require.Equal(t, wanted[topic.Topic.Name][0].Type, topic.Topic.Type)
			require.Equal(t, []offer{offerOf(topic.Topic.Name)}, topic.Topic.Offers, topic.Topic.Name)
			require.Regexp(t, `^RIHS01_[0-9a-f]{64}$`, topic.Topic.Hash)
		}
	})

	t.Run("rosbags", func(t *testing.T) {
		reader := w.script(t, "read_rosbags.py", bag)
		reader.requireExit(t, 0, readDeadline)
		var found struct {
			Count  int `json:"count"`
			Topics map[string]struct {
				Type  string  `json:"type"`
				Count int     `json:"count"`
				Hash  string  `json:"hash"`
				QoS   []offer `json:"qos"`
			} `json:"topics"`
			Messages []mcapMessage     `json:"messages"`
			Decoded  map[string]int    `json:"decoded"`
			Failed   map[string]string `json:"failed"`
		}
		lastJSON(t, reader, &found)
		require.Equal(t, len(sent), found.Count)
		require.Len(t, found.Topics, len(wanted))
		got := map[string][]string{}
		for _, one := range found.Messages {
			got[one.Topic] = append(got[one.Topic], shown(one.Data))
		}
		for topic, messages := range wanted {
			require.Equal(t, messages[0].Type, found.Topics[topic].Type)
			require.Equal(t, len(messages), found.Topics[topic].Count)
			require.Equal(t, []offer{offerOf(topic)}, found.Topics[topic].QoS, topic)
			var payloads []string
			for _, one := range messages {
				payloads = append(payloads, shown(one.Data))
			}
			require.Equal(t, payloads, got[topic], topic)
			if !slices.Contains(rosbagsCanNotDecode(), topic) {
				require.Equal(t, len(messages), found.Decoded[topic], "%s: %s", topic, found.Failed[topic])
			}
		}
	})

	t.Run("mcap-ros2-support", func(t *testing.T) {
		files := mcapFiles(t, bag)
		require.Len(t, files, 1)
		reader := w.script(t, "read_mcap_ros2.py", files[0])
		reader.requireExit(t, 0, readDeadline)
		var found struct {
			Equal     map[string]int    `json:"equal"`
			Different map[string]string `json:"different"`
		}
		lastJSON(t, reader, &found)
		for topic, messages := range wanted {
			if topic != wideTopic { // the library knows no wide strings
				require.Equal(t, len(messages), found.Equal[topic], "%s: %s", topic, found.Different[topic])
			}
		}
	})
}

// rosbagsCanNotDecode are topics whose messages the rosbags library refuses: it knows no wide strings, and it expects
// padding after the length of an empty sequence of long elements, where CDR has none. The other library reads them.
func rosbagsCanNotDecode() []string {
	return []string{
		wideTopic, "/e2e/bounded_plain_sequences", "/e2e/bounded_sequences", "/e2e/unbounded_sequences", "/e2e/multi_nested",
	}
}

// offerOf is the quality that publish_types.py offers on a topic.
func offerOf(topic string) offer {
	switch topic {
	case latchedTopic:
		return offer{Reliability: "reliable", Durability: "transient_local"}
	case imuTopic:
		return offer{Reliability: "best_effort", Durability: "volatile"}
	default:
		return offer{Reliability: "reliable", Durability: "volatile"}
	}
}

// requireChannel requires what a reader of the single file needs to know of a topic.
func requireChannel(t *testing.T, one mcapMessage) {
	t.Helper()
	require.Equal(t, "ros2msg", one.SchemaEncoding, one.Topic)
	if one.Topic == "/e2e/nested" {
		require.Regexp(t, `(?m)^=+\nMSG: test_msgs/(msg/)?BasicTypes$`, one.Schema)
	}
	if !strings.HasSuffix(one.Topic, "/empty") {
		require.NotEmpty(t, strings.TrimSpace(one.Schema), one.Topic)
	}
	require.Regexp(t, `^RIHS01_[0-9a-f]{64}$`, one.Metadata["topic_type_hash"])
	var offers []offer
	require.NoError(t, yaml.Unmarshal([]byte(one.Metadata["offered_qos_profiles"]), &offers))
	require.Equal(t, []offer{offerOf(one.Topic)}, offers, one.Topic)
}
