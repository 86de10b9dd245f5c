//go:build ros

package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreignTopic is in every bag that rosbag2 wrote for us: a plain reliable stream of strings.
const foreignTopic = "/dead_line"

// foreignBag is what independent readers found in a bag.
type foreignBag struct {
	Messages int `json:"messages"`
	Topics   map[string]struct {
		Type  string `json:"type"`
		Count int    `json:"count"`
	} `json:"topics"`
}

// infoRow is how info shows a topic, or the service that a topic of events belongs to.
func infoRow(topic, kind string, count int) string {
	if service, ok := strings.CutSuffix(topic, "/_service_event"); ok {
		return fmt.Sprintf("Service: %s | Type: %s | Event Count: %d |", service, strings.TrimSuffix(kind, "_Event"), count)
	}
	return fmt.Sprintf("Topic: %s | Type: %s | Count: %d |", topic, kind, count)
}

// TestBagsOfRosbag2 shows and plays bags that rosbag2 wrote, without touching them.
func TestBagsOfRosbag2(t *testing.T) {
	root, err := filepath.Abs("../bag/testdata/rosbag2")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "expected.json"))
	require.NoError(t, err)
	var bags map[string]foreignBag
	require.NoError(t, json.Unmarshal(text, &bags))
	require.NotEmpty(t, bags)

	w := newWorld(t)
	peer := w.control(t)
	peer.subscribe(t, foreignTopic, stringType, nil)
	before := treeHash(t, root)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		bag, want := filepath.Join(root, name), bags[name]
		if !entry.IsDir() {
			continue
		}
		if want.Messages == 0 {
			t.Run(name, func(t *testing.T) { // rosbag2 was killed before it wrote a byte
				for _, verb := range []string{"info", "play"} {
					requireOneClearLine(t, w.run(t, exitFailed, verb, bag), "nothing can be recovered")
				}
			})
			continue
		}
		t.Run(name, func(t *testing.T) {
			shown := w.run(t, 0, "info", bag).text(stdout)
			for topic, one := range want.Topics {
				require.Contains(t, shown, infoRow(topic, one.Type, one.Count))
			}
			count := want.Topics[foreignTopic].Count
			require.NotZero(t, count)
			peer.clear(t, foreignTopic)
			player := w.rosbagd(t, "play", bag, "--start-paused", "-r", "10")
			player.waitLine(t, "Playback until timestamp", startDeadline)
			peer.matched(t, foreignTopic)
			peer.call(t, "/rosbag2_player/resume", "Resume", nil)
			got := peer.await(t, foreignTopic, count)
			player.requireExit(t, 0, startDeadline)
			require.Len(t, append(got, peer.clear(t, foreignTopic)...), count)
			requireNoCrash(t, player)
		})
	}
	require.Equal(t, before, treeHash(t, root), "a bag was changed")
}
