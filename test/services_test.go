//go:build ros

package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// request is one call and what must be answered. Where the interface of a distro has more fields than these, the others
// are not looked at.
type request struct {
	service string // without the name of the node
	kind    string
	ask     fields
	answer  fields
}

// refusal is the answer of the services with a code that will not do what they are asked.
func refusal(why string) fields { return fields{"return_code": 1.0, "error_string": why} }

func success(done bool) fields { return fields{"success": done} }

// notOffered are services that neither node has, and why.
func notOffered() map[string]string {
	return map[string]string{"Snapshot": "there is no snapshot mode"}
}

// recorderRequests are for a recorder that is idle and finds nothing to record.
func recorderRequests(bag string) []request {
	nameTooLong := bag + strings.Repeat("x", 300)
	return []request{
		// Idle.
		{"is_paused", "IsPaused", nil, fields{"paused": false}},
		{"is_discovery_running", "IsDiscoveryRunning", nil, fields{"running": false}},
		{"start_discovery", "StartDiscovery", nil, refusal("Recorder is not currently recording.")},
		{"stop_discovery", "StopDiscovery", nil, refusal("Discovery is not running.")},
		{"split_bagfile", "SplitBagfile", nil, nil},
		{"stop", "Stop", nil, nil},
		{"pause", "Pause", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": true}},
		{"resume", "Resume", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": false}},
		// Places where no bag can be.
		{"record", "Record", fields{"uri": "/dev/null/bag"}, fields{"return_code": 1.0}},
		{"record", "Record", fields{"uri": nameTooLong}, fields{"return_code": 1.0}},
		{"is_discovery_running", "IsDiscoveryRunning", nil, fields{"running": false}},
		// Recording; an empty name is the one of the command line.
		{"record", "Record", fields{"uri": ""}, done()},
		{"record", "Record", fields{"uri": bag + "_other"}, refusal("Called record(uri) while already in recording.")},
		{"is_discovery_running", "IsDiscoveryRunning", nil, fields{"running": true}},
		{"start_discovery", "StartDiscovery", nil, refusal("Discovery is already running.")},
		{"stop_discovery", "StopDiscovery", nil, done()},
		{"is_discovery_running", "IsDiscoveryRunning", nil, fields{"running": false}},
		{"stop_discovery", "StopDiscovery", nil, refusal("Discovery is not running.")},
		{"start_discovery", "StartDiscovery", nil, done()},
		{"pause", "Pause", nil, nil},
		{"pause", "Pause", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": true}},
		{"resume", "Resume", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": false}},
		{"split_bagfile", "SplitBagfile", nil, nil},
		{"stop", "Stop", nil, nil},
		{"stop", "Stop", nil, nil},
		{"is_discovery_running", "IsDiscoveryRunning", nil, fields{"running": false}},
	}
}

// playerRequests are for a player that is idle, with a bag of ten messages, a second apart.
func playerRequests() []request {
	at := func(offset time.Duration) fields {
		return fields{"time": timeFields(bagStartNanos + offset.Nanoseconds())}
	}
	everything := fields{"playback_duration": fields{"sec": -1}, "playback_until_timestamp": fields{"sec": -1}}
	requests := []request{
		// Idle.
		{"is_paused", "IsPaused", nil, fields{"paused": false}},
		{"get_rate", "GetRate", nil, fields{"rate": 1.0}},
		{"play_next", "PlayNext", nil, success(false)},
		{"burst", "Burst", fields{"num_messages": 1}, fields{"actually_burst": 0.0}},
		{"seek", "Seek", at(time.Second), success(true)},
		{"stop", "Stop", nil, nil},
		{"toggle_paused", "TogglePaused", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": true}},
		{"play_next", "PlayNext", nil, success(false)},
		{"burst", "Burst", fields{"num_messages": 1}, fields{"actually_burst": 0.0}},
		// Paused.
		{"play", "Play", everything, success(true)},
		{"play", "Play", everything, success(false)},
		{"play_next", "PlayNext", nil, success(true)},
		{"burst", "Burst", fields{"num_messages": 2}, fields{"actually_burst": 2.0}},
		{"seek", "Seek", at(5500 * time.Millisecond), success(true)},
		{"burst", "Burst", fields{"num_messages": uint64(1<<64 - 1)}, fields{"actually_burst": 4.0}},
		{"play_next", "PlayNext", nil, success(false)},
		{"seek", "Seek", fields{"time": fields{"sec": -2147483648, "nanosec": uint32(1<<32 - 1)}}, success(true)},
		{"burst", "Burst", fields{"num_messages": 0}, fields{"actually_burst": 10.0}},
		{"seek", "Seek", fields{"time": fields{"sec": 2147483647, "nanosec": uint32(1<<32 - 1)}}, success(true)},
		{"burst", "Burst", fields{"num_messages": 0}, fields{"actually_burst": 0.0}},
		{"seek", "Seek", at(0), success(true)},
		{"set_rate", "SetRate", fields{"rate": 0.001}, success(true)},
		{"resume", "Resume", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": false}},
		{"play_next", "PlayNext", nil, success(false)},
		{"pause", "Pause", nil, nil},
		{"is_paused", "IsPaused", nil, fields{"paused": true}},
	}
	for _, refused := range []string{"nan", "inf", "-inf", "0", "-0.0", "-1"} {
		requests = append(
			requests,
			request{"set_rate", "SetRate", fields{"rate": refused}, success(false)},
			request{"get_rate", "GetRate", nil, fields{"rate": 0.001}},
		)
	}
	return append(
		requests,
		request{"stop", "Stop", nil, nil},
		request{"play_next", "PlayNext", nil, success(false)},
		// All zero plays nothing, and ends by itself when it is not paused.
		request{"resume", "Resume", nil, nil},
		request{"play", "Play", nil, success(true)},
		request{"stop", "Stop", nil, nil},
	)
}

func (c *control) ask(t *testing.T, node string, requests []request) (asked map[string]bool) {
	t.Helper()
	asked = map[string]bool{}
	for number, one := range requests {
		answer := c.call(t, node+"/"+one.service, one.kind, one.ask)
		for field, want := range one.answer {
			require.Contains(t, answer, field, "request %d, %s %v", number, one.service, one.ask)
			require.Equal(t, want, answer[field], "request %d, %s %v: %v", number, one.service, one.ask, answer)
		}
		if answer["return_code"] == 1.0 {
			require.NotEmpty(t, answer["error_string"], "request %d, %s %v", number, one.service, one.ask)
		}
		asked[node+"/"+one.service] = true
	}
	return asked
}

// requireAllAsked requires that no service of rosbag2_interfaces that the node offers was left out.
func (c *control) requireAllAsked(t *testing.T, node string, asked map[string]bool) (kinds map[string]bool) {
	t.Helper()
	var offered map[string]string
	c.do(t, command{"op": "services", "node": node}, &offered)
	kinds = map[string]bool{}
	for name, kind := range offered {
		if short, ours := strings.CutPrefix(kind, "rosbag2_interfaces/srv/"); ours {
			require.True(t, asked[name], "%s (%s) is offered and was not called", name, kind)
			kinds[short] = true
		}
	}
	return kinds
}

// TestEveryService calls each service of both nodes in each of its states, with wrong values too.
func TestEveryService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	peer := w.control(t)
	called := map[string]bool{}
	note := func(kinds map[string]bool) {
		for kind := range kinds {
			called[kind] = true
		}
	}

	bag := w.path("configured")
	recorder := w.rosbagd(t, "recorder", "--idle", "-o", bag, "/nobody/publishes/this")
	asked := peer.ask(t, "/recorder", recorderRequests(bag))
	note(peer.requireAllAsked(t, "/recorder", asked))
	recorder.stop(t, 0)
	requireNoCrash(t, recorder)
	require.FileExists(t, filepath.Join(bag, "metadata.yaml"))
	require.NoDirExists(t, bag+"_other")

	player := w.rosbagd(t, "player", "--idle", w.makeBag(t, "counted", 10, time.Second))
	asked = peer.ask(t, "/player", playerRequests())
	note(peer.requireAllAsked(t, "/player", asked))
	player.stop(t, 0)
	requireNoCrash(t, player)

	for _, kind := range serviceKinds(t) {
		why, left := notOffered()[kind]
		require.NotEqual(t, left, called[kind], "%s is called, or it is known why not: %q", kind, why)
	}
}

// serviceKinds are the service types that msgs/services.go knows.
func serviceKinds(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "msgs", "services.go"), nil, 0)
	require.NoError(t, err)
	var kinds []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		generic, ok := call.Fun.(*ast.IndexExpr)
		if !ok {
			return true
		}
		if name, ok := generic.X.(*ast.Ident); ok && name.Name == "service" {
			kind, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			kinds = append(kinds, kind)
		}
		return true
	})
	require.NotEmpty(t, kinds)
	return kinds
}
