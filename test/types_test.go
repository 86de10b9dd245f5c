//go:build ros

package test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs/definition"
	"rosbagd/storage"
)

const (
	stationTopic = "/station"
	readingTopic = "/reading"
	knownTopic   = "/known"
	stationType  = "peer_msgs/msg/Station"
	readingType  = "peer_msgs/msg/Reading"
	stationCount = 20
)

// peerPrefix is where peer_msgs is installed, which only peers of withPeerTypes see.
func peerPrefix() string {
	return absolute(cmp.Or(os.Getenv("ROSBAGD_PEER_PREFIX"), filepath.Join("../.ros", distro()+"-peers")))
}

// withPeerTypes is the same world as seen by one who has peer_msgs installed.
func (w *world) withPeerTypes(t *testing.T) *world {
	t.Helper()
	modules, err := filepath.Glob(filepath.Join(peerPrefix(), "lib", "python3*", "*-packages"))
	require.NoError(t, err)
	debian, err := filepath.Glob(filepath.Join(peerPrefix(), "local", "lib", "python3*", "*-packages"))
	require.NoError(t, err)
	modules = append(modules, debian...)
	require.NotEmpty(t, modules, "peer_msgs is not built in %s", peerPrefix())
	list := string(filepath.ListSeparator)
	libraries := []string{filepath.Join(peerPrefix(), "lib")}
	for _, prefix := range prefixes() {
		libraries = append(libraries, filepath.Join(prefix, "lib"))
	}
	seen := *w
	seen.environ = append(append([]string{}, w.environ...),
		"AMENT_PREFIX_PATH="+strings.Join(append([]string{peerPrefix()}, prefixes()...), list),
		"LD_LIBRARY_PATH="+strings.Join(append(libraries, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...), list),
		"PYTHONPATH="+strings.Join(append(modules, filepath.SplitList(os.Getenv("PYTHONPATH"))...), list),
	)
	return &seen
}

// peerHash is the hash that the generators of ROS gave a type of peer_msgs; empty in distros without.
func peerHash(t *testing.T, typ string) string {
	t.Helper()
	parts := strings.Split(typ, "/")
	text, err := os.ReadFile(filepath.Join(peerPrefix(), "share", parts[0], parts[1], strings.TrimSuffix(parts[2], "_Event")+".json"))
	if os.IsNotExist(err) && distro() == "humble" {
		return ""
	}
	require.NoError(t, err)
	var described struct {
		Hashes []struct {
			Type string `json:"type_name"`
			Hash string `json:"hash_string"`
		} `json:"type_hashes"`
	}
	require.NoError(t, json.Unmarshal(text, &described))
	for _, one := range described.Hashes {
		if one.Type == typ {
			return one.Hash
		}
	}
	require.FailNow(t, "no such type", typ)
	return ""
}

// peerDefinition is the whole text of a type of peer_msgs as its installation has it.
func peerDefinition(t *testing.T, typ string) string {
	t.Helper()
	found, err := definition.NewSearch(append([]string{peerPrefix()}, prefixes()...), nil).Definition(typ, "")
	require.NoError(t, err)
	return found.Text
}

// recordStation records station.py, whose package the recorder does not have.
func (w *world) recordStation(t *testing.T, bag string, flags []string, arguments ...string) (map[string][]sentMessage, *process) {
	t.Helper()
	notes := bag + ".jsonl"
	station := w.withPeerTypes(t).script(t, "station.py", append([]string{notes}, flags...)...)
	station.waitLine(t, "^sent$", startDeadline)
	recorder := w.record(t, bag, arguments...)
	station.waitLine(t, "^acknowledged$", 60*time.Second)
	recorder.stop(t, 0)
	recorder.waitLine(t, "Recording stopped", stopDeadline)
	requireNoCrash(t, recorder)
	require.NoError(t, station.stdin.Close())
	station.requireExit(t, 0, stopDeadline)
	text, err := os.ReadFile(notes)
	require.NoError(t, err)
	return sentByTopic(jsonLines[sentMessage](t, string(text))), recorder
}

// requireStation requires that a bag has what station.py sent, with these texts as definitions.
func (w *world) requireStation(t *testing.T, bag string, sent map[string][]sentMessage, definitions map[string]string) {
	t.Helper()
	found := map[string][]mcapMessage{}
	for _, one := range w.mcapMessages(t, bag) {
		found[one.Topic] = append(found[one.Topic], one)
	}
	for topic, messages := range sent {
		require.Len(t, found[topic], len(messages), topic)
		for i, one := range messages {
			require.Equal(t, shown(one.Data), shown(found[topic][i].Data), "payload %d of %s", i, topic)
		}
	}
	for topic, text := range definitions {
		require.Equal(t, text, found[topic][0].Schema, topic)
		require.Equal(t, text == "", found[topic][0].SchemaEncoding == "", topic)
	}
	hashes := map[string]string{}
	for _, topic := range readMetadata(t, bag).Information.Topics {
		hashes[topic.Topic.Name] = topic.Topic.Hash
	}
	require.Equal(t, peerHash(t, stationType), hashes[stationTopic])
	require.Equal(t, peerHash(t, readingType), hashes[readingTopic])
}

func warnings(p *process) []string {
	var found []string
	lines, _ := p.after(0)
	for _, line := range lines {
		if warning(line.text) {
			found = append(found, line.text)
		}
	}
	return found
}

// TestTypesThatAreNotInstalled records and plays messages of a package that only the other side has.
func TestTypesThatAreNotInstalled(t *testing.T) {
	w := newWorld(t)
	bag := w.path("told")
	topics := []string{"--topics", stationTopic, readingTopic, knownTopic}
	sent, recorder := w.recordStation(t, bag, nil, topics...)
	require.Empty(t, warnings(recorder))
	recorder.waitLine(t, `recorded with the definition that '/far/station' gave`, stopDeadline)
	definitions := map[string]string{
		stationTopic: peerDefinition(t, stationType), readingTopic: peerDefinition(t, readingType), knownTopic: peerDefinition(t, stringType),
	}
	w.requireStation(t, bag, sent, definitions)

	t.Run("played to one who has the package", func(t *testing.T) {
		peer := w.withPeerTypes(t).control(t)
		latched := fields{"durability": "transient_local"}
		for topic, typ := range map[string]string{stationTopic: stationType, readingTopic: readingType, knownTopic: stringType} {
			peer.subscribe(t, topic, typ, latched)
		}
		player := w.rosbagd(t, "play", bag, "--start-paused")
		peer.matched(t, stationTopic, readingTopic, knownTopic)
		var hashes []string
		peer.do(t, command{"op": "hashes", "topic": stationTopic}, &hashes)
		require.Equal(t, []string{peerHash(t, stationType)}, hashes)
		peer.call(t, "/rosbag2_player/resume", "Resume", nil)
		for topic, messages := range sent {
			got := peer.await(t, topic, len(messages))
			for i, one := range messages {
				require.Equal(t, shown(one.Data), shown(got[i].Data), "payload %d of %s", i, topic)
			}
		}
		player.requireExit(t, 0, startDeadline)
		require.Empty(t, warnings(player))
		requireNoCrash(t, player)
	})
	t.Run("recorded again while it is played", func(t *testing.T) {
		again := w.path("again")
		player := w.rosbagd(t, "play", bag, "--start-paused")
		recorder := w.record(t, again, topics...)
		recorder.waitLine(t, "All requested topics are subscribed", startDeadline)
		recorder.waitLine(t, `recorded with the definition that '/rosbag2_player' gave`, stopDeadline)
		peer := w.control(t)
		peer.call(t, "/rosbag2_player/resume", "Resume", nil)
		player.requireExit(t, 0, startDeadline)
		recorder.stop(t, 0)
		require.Empty(t, warnings(recorder))
		w.requireStation(t, again, sent, definitions)
	})
}

// TestNodeThatDoesNotDescribe records a node that never answers: with the definition that --msg-path has, or without.
func TestNodeThatDoesNotDescribe(t *testing.T) {
	w := newWorld(t)
	topics := []string{"--topics", stationTopic, readingTopic, knownTopic}

	given := w.path("given")
	sent, recorder := w.recordStation(t, given, []string{"--deaf"}, append(topics, "--msg-path", absolute("../test"))...)
	require.Empty(t, warnings(recorder))
	w.requireStation(t, given, sent, map[string]string{
		stationTopic: peerDefinition(t, stationType), readingTopic: peerDefinition(t, readingType),
	})

	without := w.path("without")
	sent, recorder = w.recordStation(t, without, []string{"--deaf"}, topics...)
	require.Len(t, warnings(recorder), 2, "one for each of two types")
	w.requireStation(t, without, sent, map[string]string{stationTopic: "", readingTopic: ""})

	peer := w.withPeerTypes(t).control(t)
	peer.subscribe(t, stationTopic, stationType, fields{"durability": "transient_local"})
	player := w.rosbagd(t, "play", without, "--start-paused", "--topics", stationTopic, knownTopic)
	peer.matched(t, stationTopic)
	var hashes []string
	peer.do(t, command{"op": "hashes", "topic": stationTopic}, &hashes)
	require.Equal(t, []string{peerHash(t, stationType)}, hashes)
	peer.call(t, "/rosbag2_player/resume", "Resume", nil)
	require.Len(t, peer.await(t, stationTopic, stationCount), stationCount)
	player.requireExit(t, 0, startDeadline)
	require.Len(t, warnings(player), 1, "only for what is played")
	require.Contains(t, warnings(player)[0], stationType)

	player = w.rosbagd(t, "play", without, "--msg-path", absolute("../test"))
	player.requireExit(t, 0, startDeadline)
	require.Empty(t, warnings(player))
}

// TestServiceEventsOfTypesThatAreNotInstalled records the requests and responses of a service of the other side.
func TestServiceEventsOfTypesThatAreNotInstalled(t *testing.T) {
	const events, typ = "/ask/_service_event", "peer_msgs/srv/Ask_Event"
	w := newWorld(t)
	bag := w.path("events")
	_, recorder := w.recordStation(t, bag, []string{"--ask"}, "--all-services", "--topics", stationTopic, readingTopic, knownTopic)
	require.Empty(t, warnings(recorder))
	var found []mcapMessage
	for _, one := range w.mcapMessages(t, bag) {
		if one.Topic == events {
			found = append(found, one)
		}
	}
	require.Equal(t, 2*stationCount, len(found), "requests and responses, as the service saw them")
	described, _, err := definition.Describe(typ, storage.Definition{Encoding: found[0].SchemaEncoding, Text: found[0].Schema})
	require.NoError(t, err)
	require.Equal(t, peerHash(t, typ), described.Hash(), found[0].Schema)

	again := w.path("again")
	player := w.rosbagd(t, "play", bag, "--start-paused")
	peer := w.control(t)
	peer.matched(t, events)
	var hashes []string
	peer.do(t, command{"op": "hashes", "topic": events}, &hashes)
	require.Equal(t, []string{peerHash(t, typ)}, hashes)
	recorder = w.record(t, again, "--all-services")
	recorder.waitLine(t, "Subscribed to topic '"+events+"'", startDeadline)
	peer.call(t, "/rosbag2_player/resume", "Resume", nil)
	player.requireExit(t, 0, startDeadline)
	require.Empty(t, warnings(player))
	recorder.stop(t, 0)
	require.Empty(t, warnings(recorder))
	played := w.mcapMessages(t, again)
	require.Len(t, played, len(found))
	for i, one := range found {
		require.Equal(t, shown(one.Data), shown(played[i].Data), "event %d", i)
		require.Equal(t, one.Schema, played[i].Schema)
	}
}
