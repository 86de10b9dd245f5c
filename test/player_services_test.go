//go:build ros

package test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	countMessages = 100
	countPeriod   = 100 * time.Millisecond
)

// pausedPlayer is a player of a made bag that waits before its first message, and the peer that drives it.
type pausedPlayer struct {
	*process
	peer *control
	node string
}

func (w *world) pausedPlayer(t *testing.T, arguments ...string) pausedPlayer {
	t.Helper()
	bag := w.makeBag(t, "counted", countMessages, countPeriod)
	peer := w.control(t)
	peer.subscribe(t, countTopic, stringType, nil)
	player := w.rosbagd(t, append([]string{"play", bag, "--start-paused"}, arguments...)...)
	peer.matched(t, countTopic)
	return pausedPlayer{process: player, peer: peer, node: "/rosbag2_player"}
}

func (p pausedPlayer) call(t *testing.T, service, kind string, request fields) fields {
	t.Helper()
	return p.peer.call(t, p.node+"/"+service, kind, request)
}

// received requires the numbers that were published since the last look.
func (p pausedPlayer) received(t *testing.T, from, count int) {
	t.Helper()
	require.Equal(t, numberTexts(from, count), texts(t, p.peer.await(t, countTopic, count)))
}

func (p pausedPlayer) seek(t *testing.T, offset time.Duration) {
	t.Helper()
	response := p.call(t, "seek", "Seek", fields{"time": timeFields(bagStartNanos + offset.Nanoseconds())})
	require.Equal(t, fields{"success": true}, response)
}

func timeFields(nanos int64) fields {
	second := time.Second.Nanoseconds()
	return fields{"sec": nanos / second, "nanosec": nanos % second}
}

func numberTexts(from, count int) []string {
	var found []string
	for number := from; number < from+count; number++ {
		found = append(found, strconv.Itoa(number))
	}
	return found
}

// TestPlayerServices walks through a paused bag with every service of the player.
func TestPlayerServices(t *testing.T) {
	w := newWorld(t)
	p := w.pausedPlayer(t)
	success := func(want bool) fields { return fields{"success": want} }

	require.Equal(t, fields{"paused": true}, p.call(t, "is_paused", "IsPaused", nil))
	require.Equal(t, fields{"rate": 1.0}, p.call(t, "get_rate", "GetRate", nil))
	require.Equal(t, success(false), p.call(t, "play", "Play", nil), "play while playing")

	t.Run("play_next and burst", func(t *testing.T) {
		require.Equal(t, success(true), p.call(t, "play_next", "PlayNext", nil))
		require.Equal(t, success(true), p.call(t, "play_next", "PlayNext", nil))
		p.received(t, 0, 2)
		require.Equal(t, fields{"actually_burst": 5.0}, p.call(t, "burst", "Burst", fields{"num_messages": 5}))
		p.received(t, 2, 5)
	})

	t.Run("seek", func(t *testing.T) {
		for _, test := range []struct {
			name   string
			offset time.Duration
			next   int
		}{
			{"forth", 5 * time.Second, 50},
			{"back", time.Second, 10},
			{"between two messages", 1950 * time.Millisecond, 20},
			{"to the last", 9900 * time.Millisecond, 99},
			{"before the start", -time.Hour, 0},
		} {
			p.seek(t, test.offset)
			require.Equal(t, success(true), p.call(t, "play_next", "PlayNext", nil), test.name)
			p.received(t, test.next, 1)
		}
	})

	t.Run("end", func(t *testing.T) {
		p.seek(t, time.Hour)
		require.Equal(t, success(false), p.call(t, "play_next", "PlayNext", nil))
		require.Equal(t, fields{"actually_burst": 0.0}, p.call(t, "burst", "Burst", fields{"num_messages": 3}))
		p.seek(t, 9700*time.Millisecond)
		require.Equal(t, fields{"actually_burst": 3.0}, p.call(t, "burst", "Burst", fields{"num_messages": 10}))
		p.received(t, 97, 3)
	})

	t.Run("set_rate", func(t *testing.T) {
		require.Equal(t, success(true), p.call(t, "set_rate", "SetRate", fields{"rate": 4}))
		for _, refused := range []string{"nan", "inf", "-inf", "0", "-1"} {
			require.Equal(t, success(false), p.call(t, "set_rate", "SetRate", fields{"rate": refused}), refused)
			require.Equal(t, fields{"rate": 4.0}, p.call(t, "get_rate", "GetRate", nil), refused)
		}
	})

	t.Run("not paused", func(t *testing.T) {
		require.Equal(t, success(true), p.call(t, "set_rate", "SetRate", fields{"rate": 0.001}))
		p.seek(t, time.Second)
		p.call(t, "toggle_paused", "TogglePaused", nil)
		require.Equal(t, fields{"paused": false}, p.call(t, "is_paused", "IsPaused", nil))
		require.Equal(t, success(false), p.call(t, "play_next", "PlayNext", nil))
		require.Equal(t, fields{"actually_burst": 0.0}, p.call(t, "burst", "Burst", fields{"num_messages": 1}))
		p.call(t, "toggle_paused", "TogglePaused", nil)
		require.Equal(t, fields{"paused": true}, p.call(t, "is_paused", "IsPaused", nil))
	})

	p.peer.clear(t, countTopic)
	p.seek(t, 9500*time.Millisecond)
	require.Equal(t, success(true), p.call(t, "set_rate", "SetRate", fields{"rate": 1}))
	p.call(t, "resume", "Resume", nil)
	p.received(t, 95, 5)
	p.requireExit(t, 0, stopDeadline)
	require.Empty(t, p.peer.clear(t, countTopic), "nothing is played twice")
	requireNoCrash(t, p.process)
}

// TestPlayerStopService ends the verb by its own service.
func TestPlayerStopService(t *testing.T) {
	w := newWorld(t)
	p := w.pausedPlayer(t)
	p.call(t, "stop", "Stop", nil)
	p.requireExit(t, 0, stopDeadline)
}

// TestPlayerDaemon plays again and again through the services of one long-running player.
func TestPlayerDaemon(t *testing.T) {
	w := newWorld(t)
	bag := w.makeBag(t, "counted", 10, 20*time.Millisecond)
	peer := w.control(t)
	peer.subscribe(t, countTopic, stringType, nil)
	daemon := w.rosbagd(t, "player", bag)
	peer.matched(t, countTopic)
	everything := fields{"playback_until_timestamp": fields{"sec": 2147483647}}
	p := pausedPlayer{process: daemon, peer: peer, node: "/player"}

	// Whatever the daemon does on its own when it comes up is over after a stop.
	p.call(t, "stop", "Stop", nil)
	peer.clear(t, countTopic)
	for range 3 {
		require.Equal(t, fields{"success": true}, p.call(t, "play", "Play", everything))
		p.received(t, 0, 10)
		p.call(t, "stop", "Stop", nil)
	}
	t.Run("an all-zero request plays nothing", func(t *testing.T) {
		require.Equal(t, fields{"success": true}, p.call(t, "play", "Play", nil))
		p.call(t, "stop", "Stop", nil)
		require.Empty(t, peer.clear(t, countTopic))
	})
	t.Run("a limit in bag time", func(t *testing.T) {
		request := fields{"playback_duration": fields{"sec": 0, "nanosec": 60_000_000}}
		require.Equal(t, fields{"success": true}, p.call(t, "play", "Play", request))
		p.received(t, 0, 4)
		p.call(t, "stop", "Stop", nil)
	})
	daemon.stop(t, 0)
}
