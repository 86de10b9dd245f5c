//go:build ros

package test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ending is a way to be told to stop.
type ending struct {
	name string
	send func(t *testing.T, p *process)
}

// endings are the three signals, and the one that launchers and `timeout` send twice within milliseconds.
func endings() []ending {
	one := func(signal syscall.Signal) func(*testing.T, *process) {
		return func(t *testing.T, p *process) { p.signal(t, signal) }
	}
	return []ending{
		{"INT", one(syscall.SIGINT)},
		{"TERM", one(syscall.SIGTERM)},
		{"HUP", one(syscall.SIGHUP)},
		{"INT twice", func(t *testing.T, p *process) {
			p.signal(t, syscall.SIGINT)
			_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGINT) // may be gone already, which is fine
		}},
		{"INT again at the end", func(t *testing.T, p *process) {
			p.signal(t, syscall.SIGINT)
			p.waitLine(t, "Recording stopped|Playback is over", stopDeadline)
			_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGINT) // as above
		}},
	}
}

// waitForData waits until a bag has more than what every empty file has.
func waitForData(t *testing.T, bag string) {
	t.Helper()
	const some = 10_000
	grown := func() bool {
		var size int64
		for _, file := range mcapFiles(t, bag) {
			if info, err := os.Stat(file); err == nil {
				size += info.Size()
			}
		}
		return size > some
	}
	require.Eventually(t, grown, startDeadline, 20*time.Millisecond, "nothing is written to %s", bag)
}

// TestRecorderSignals ends a recorder in every state: exit code 0 and an exact metadata.yaml.
func TestRecorderSignals(t *testing.T) {
	states := []struct {
		name      string
		arguments []string
		reach     func(t *testing.T, recorder *process, bag string)
		empty     bool
	}{
		{
			name: "waiting for a topic", arguments: []string{"/nobody/publishes/this"}, empty: true,
			reach: func(*testing.T, *process, string) {},
		},
		{
			name: "recording", arguments: loadTopics(2),
			reach: func(t *testing.T, _ *process, bag string) { waitForData(t, bag) },
		},
		{
			name: "paused", arguments: append([]string{"--start-paused"}, loadTopics(2)...), empty: true,
			reach: func(t *testing.T, recorder *process, _ string) {
				recorder.waitLines(t, "Subscribed to topic", 2, startDeadline)
			},
		},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			// Traffic that runs as long as the test, whoever listens.
			publisher := w.load(t, "pub", "--rate", "500", "--count", "1000000", "--wait", "0", "--topics", "2")
			publisher.waitLine(t, "^matched$", startDeadline)
			for _, end := range endings() {
				t.Run(end.name, func(t *testing.T) {
					bag := w.path(end.name)
					recorder := w.record(t, bag, state.arguments...)
					state.reach(t, recorder, bag)
					end.send(t, recorder)
					recorder.requireExit(t, 0, stopDeadline)
					requireNoCrash(t, recorder)
					recorder.waitLine(t, "Recording stopped", stopDeadline)
					counts := w.requireExactMetadata(t, bag)
					require.Equal(t, state.empty, len(counts) == 0, "messages: %v", counts)
				})
			}
			publisher.stop(t, 0)
		})
	}
}

// TestPlayerSignals ends a player in every state with exit code 0.
func TestPlayerSignals(t *testing.T) {
	states := []struct {
		name      string
		arguments []string
		reach     func(t *testing.T, peer *control)
	}{
		{"playing", nil, func(t *testing.T, peer *control) { peer.await(t, countTopic, 2) }},
		{"looping", []string{"--loop", "-r", "100"}, func(t *testing.T, peer *control) { peer.await(t, countTopic, 2) }},
		{"paused", []string{"--start-paused"}, func(t *testing.T, peer *control) {
			require.Equal(t, fields{"paused": true}, peer.call(t, "/rosbag2_player/is_paused", "IsPaused", nil))
		}},
		{"paused at the end", []string{"--start-paused"}, func(t *testing.T, peer *control) {
			response := peer.call(t, "/rosbag2_player/burst", "Burst", fields{"num_messages": 0})
			require.Equal(t, fields{"actually_burst": float64(countMessages)}, response)
		}},
		{"in the delay", []string{"--delay", "60"}, func(t *testing.T, peer *control) {
			require.Equal(t, fields{"paused": false}, peer.call(t, "/rosbag2_player/is_paused", "IsPaused", nil))
		}},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			bag := w.makeBag(t, "counted", countMessages, countPeriod)
			peer := w.control(t)
			peer.subscribe(t, countTopic, stringType, nil)
			for _, end := range endings() {
				t.Run(end.name, func(t *testing.T) {
					peer.clear(t, countTopic)
					player := w.rosbagd(t, append([]string{"play", bag}, state.arguments...)...)
					player.waitLine(t, "Playback until timestamp", startDeadline)
					state.reach(t, peer)
					end.send(t, player)
					player.requireExit(t, 0, stopDeadline)
					requireNoCrash(t, player)
				})
			}
		})
	}
}

// TestSignalBeforeDiscovery ends a recorder as early as a script may: at once after it has begun.
func TestSignalBeforeDiscovery(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		bag := w.path(time.Now().Format("150405.000000000"))
		recorder := w.record(t, bag, "--all-topics")
		recorder.stop(t, 0)
		w.requireExactMetadata(t, bag)
	}
}
