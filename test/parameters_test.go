//go:build ros

package test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// value is a parameter's value, [TYPE, VALUE] in rclpy's words.
type value []any

// result is how an attempt to set went.
type result struct {
	Successful bool   `json:"successful"`
	Reason     string `json:"reason"`
}

// parameterEvent is what /parameter_events told of one change.
type parameterEvent struct {
	Stamp   int64            `json:"stamp"`
	New     map[string]value `json:"new"`
	Changed map[string]value `json:"changed"`
	Deleted map[string]value `json:"deleted"`
}

// parameters is the rclpy node of peers/parameters.py, a client for the parameters of one node.
type parameters struct {
	*control
	node string
}

// parameterPeer starts the peer, for a node that may come later.
func (w *world) parameterPeer(t *testing.T, node string) parameters {
	t.Helper()
	p := parameters{&control{process: w.script(t, "parameters.py")}, node}
	p.answer(t, nil)
	return p
}

// connect waits for the node and listens to its events.
func (p parameters) connect(t *testing.T) {
	t.Helper()
	p.do(t, command{"op": "parameters", "node": p.node}, nil)
	p.do(t, command{"op": "events"}, nil)
}

func (p parameters) get(t *testing.T, names ...string) []value {
	t.Helper()
	var found []value
	p.do(t, command{"op": "get", "names": names}, &found)
	return found
}

func (p parameters) set(t *testing.T, name string, to value) result {
	t.Helper()
	var results []result
	p.do(t, command{"op": "set", "parameters": map[string]value{name: to}}, &results)
	require.Len(t, results, 1)
	return results[0]
}

// requireChanged requires that the next event of the node tells of these changes and of nothing else.
func (p parameters) requireChanged(t *testing.T, want map[string]value) {
	t.Helper()
	var event parameterEvent
	p.do(t, command{"op": "event", "node": p.node}, &event)
	require.Equal(t, want, event.Changed)
	require.Empty(t, event.New)
	require.Empty(t, event.Deleted)
	require.InDelta(t, time.Now().Unix(), event.Stamp, 600)
}

func (w *world) write(t *testing.T, name, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(w.path(name), []byte(text), 0o644))
	return w.path(name)
}

// TestPlayerParameters starts a player with two parameter files, -p and flags, and then does with its parameters
// whatever a client of rclpy can do.
func TestPlayerParameters(t *testing.T) {
	w := newWorld(t)
	bag := w.makeBag(t, "counted", countMessages, countPeriod)
	first := w.write(t, "first.yaml", `
/**:
  ros__parameters:
    use_sim_time: true
    robot_name: "r2"
    play: {loop: true, rate: 0.5, start_paused: true, read_ahead_queue_size: 10, topics_to_filter: []}
/robot/*:
  ros__parameters:
    play.playback_until_timestamp.sec: 1800000000
    play.rate: 0.25
/other/player: {ros__parameters: {play.start_paused: false}}
player:        {ros__parameters: {play.start_paused: false}}
`)
	second := w.write(t, "second.yaml", `
/**/player:
  ros__parameters:
    storage.uri: `+bag+`
    play.exclude_topics_to_filter: ["/none", "other"]
    play.message_order: SENT_TIMESTAMP
`)
	player := w.rosbagd(t, "player", "--clock", "1", "--ros-args", "-r", "__ns:=/robot",
		"--params-file", first, "--params-file", second, "-p", "play.start_offset.nsec:=100000000", "-p", "play.clock_publish_frequency:=7.0")
	p := w.parameterPeer(t, "/robot/player")
	p.connect(t)

	t.Run("begin with what was given", func(t *testing.T) {
		require.Equal(t, []value{
			{"DOUBLE", 0.25},
			{"BOOL", true},
			{"BOOL", true},
			{"STRING_ARRAY", []any{}},
			{"STRING_ARRAY", []any{"/none", "other"}},
			{"STRING", bag},
			{"STRING", "SENT_TIMESTAMP"},
			{"INTEGER", 1800000000.0},
			{"INTEGER", 0.0},
			{"INTEGER", 100000000.0},
			{"INTEGER", -1.0},
			{"DOUBLE", 1.0},
			{"BOOL", false},
		}, p.get(t, "play.rate", "play.loop", "play.start_paused", "play.topics_to_filter", "play.exclude_topics_to_filter",
			"storage.uri", "play.message_order", "play.playback_until_timestamp.sec", "play.playback_until_timestamp.nsec",
			"play.start_offset.nsec", "play.playback_duration.sec", "play.clock_publish_frequency", "use_sim_time"))
		require.Equal(t, fields{"rate": 0.25}, p.call(t, "/robot/player/get_rate", "GetRate", nil))
		require.Equal(t, fields{"paused": true}, p.call(t, "/robot/player/is_paused", "IsPaused", nil))
		require.Len(t, player.waitLines(t, `\[WARN\].*Parameters that this node does not have.*: `+
			`play\.read_ahead_queue_size \(file `+first+`\), robot_name \(file `+first+`\)`, 1, startDeadline), 1)
		player.waitLine(t, `use_sim_time \(file .*\) has no effect`, startDeadline)
		require.Empty(t, p.get(t, "play.rate", "play.read_ahead_queue_size"), "as rclcpp: nothing where one is not declared")
	})

	t.Run("list, types and descriptors", func(t *testing.T) {
		list := func(depth int, prefixes ...string) (found struct{ Names, Prefixes []string }) {
			p.do(t, command{"op": "list", "prefixes": prefixes, "depth": depth}, &found)
			return found
		}
		require.Equal(t, []string{"play.delay.nsec", "play.delay.sec", "storage.storage_id", "storage.uri"}, list(0, "play.delay", "storage").Names)
		require.Equal(t, []string{"play.delay", "storage"}, list(0, "play.delay", "storage").Prefixes)
		require.Contains(t, list(1).Names, "use_sim_time")
		require.NotContains(t, list(1).Names, "play.rate")
		require.Contains(t, list(0).Names, "play.rate")
		require.NotContains(t, list(1, "play").Names, "play.delay.sec")

		var types []string
		p.do(t, command{"op": "types", "names": []string{"play.rate", "play.delay.sec", "storage.uri", "play.clock_trigger_topics"}}, &types)
		require.Equal(t, []string{"DOUBLE", "INTEGER", "STRING", "STRING_ARRAY"}, types)

		var descriptors []fields
		p.do(t, command{"op": "describe", "names": []string{"play.rate", "play.loop", "play.message_order", "play.delay.nsec"}}, &descriptors)
		require.Len(t, descriptors, 4)
		require.Equal(t, []any{map[string]any{"from_value": 1e-6, "to_value": 1.7976931348623157e308, "step": 0.0}}, descriptors[0]["floating_point_range"])
		require.Equal(t, false, descriptors[0]["read_only"])
		require.Equal(t, true, descriptors[1]["read_only"])
		require.EqualValues(t, 1, descriptors[1]["type"])
		require.Equal(t, "begin again at the end", descriptors[1]["description"])
		require.Equal(t, "one of RECEIVED_TIMESTAMP, SENT_TIMESTAMP", descriptors[2]["additional_constraints"])
		require.Equal(t, []any{map[string]any{"from_value": -999999999.0, "to_value": 999999999.0, "step": 0.0}}, descriptors[3]["integer_range"])
	})

	t.Run("refused with a reason", func(t *testing.T) {
		for reason, one := range map[string]struct {
			name string
			to   value
		}{
			"out of range: .nan":           {"play.rate", value{"DOUBLE", "nan"}},
			"out of range: .inf":           {"play.rate", value{"DOUBLE", "inf"}},
			"out of range: 0.0":            {"play.rate", value{"DOUBLE", 0}},
			"write 2.0":                    {"play.rate", value{"INTEGER", 2}},
			"can not be removed":           {"play.rate", value{"NOT_SET", nil}},
			"out of range: -1.0":           {"play.clock_publish_frequency", value{"DOUBLE", -1}},
			"play.loop: is read-only":      {"play.loop", value{"BOOL", false}},
			"can not follow /clock":        {"use_sim_time", value{"BOOL", true}},
			"play.nosuch: is not declared": {"play.nosuch", value{"BYTE_ARRAY", []int{1, 2}}},
		} {
			got := p.set(t, one.name, one.to)
			require.False(t, got.Successful, reason)
			require.Contains(t, got.Reason, reason)
		}
		var all result
		p.do(t, command{"op": "atomically", "parameters": map[string]value{
			"play.rate": {"DOUBLE", 4}, "play.clock_publish_frequency": {"DOUBLE", "inf"},
		}}, &all)
		require.False(t, all.Successful)
		require.Contains(t, all.Reason, "play.clock_publish_frequency")
		p.do(t, command{"op": "atomically", "parameters": map[string]value{}}, &all)
		require.False(t, all.Successful)
		require.Equal(t, []value{{"DOUBLE", 0.25}, {"DOUBLE", 1.0}}, p.get(t, "play.rate", "play.clock_publish_frequency"))
	})

	// That the first event is this one shows that nothing above made any.
	t.Run("parameters, services and events agree", func(t *testing.T) {
		require.Equal(t, result{Successful: true}, p.set(t, "play.rate", value{"DOUBLE", 2}))
		p.requireChanged(t, map[string]value{"play.rate": {"DOUBLE", 2.0}})
		require.Equal(t, fields{"rate": 2.0}, p.call(t, "/robot/player/get_rate", "GetRate", nil))

		require.Equal(t, fields{"success": false}, p.call(t, "/robot/player/set_rate", "SetRate", fields{"rate": 0}))
		require.Equal(t, fields{"success": true}, p.call(t, "/robot/player/set_rate", "SetRate", fields{"rate": 3.5}))
		p.requireChanged(t, map[string]value{"play.rate": {"DOUBLE", 3.5}})
		require.Equal(t, []value{{"DOUBLE", 3.5}}, p.get(t, "play.rate"))

		var all result
		p.do(t, command{"op": "atomically", "parameters": map[string]value{
			"play.rate": {"DOUBLE", 1}, "play.clock_publish_frequency": {"DOUBLE", 300},
		}}, &all)
		require.Equal(t, result{Successful: true}, all)
		both := map[string]value{"play.rate": {"DOUBLE", 1.0}, "play.clock_publish_frequency": {"DOUBLE", 300.0}}
		p.requireChanged(t, both)
		p.subscribe(t, clockTopic, clockType, fields{"reliability": "best_effort"})
		p.await(t, clockTopic, 300) // at 1 Hz they would not come in time
	})

	t.Run("load a file", func(t *testing.T) {
		var results []result
		p.do(t, command{"op": "load", "file": w.write(t, "load.yaml", `
/**:
  ros__parameters: {play: {rate: 1.5, loop: false, clock_publish_frequency: 2.0}}
`)}, &results)
		require.Len(t, results, 3)
		require.Equal(t, []bool{true, false, true}, []bool{results[0].Successful, results[1].Successful, results[2].Successful})
		require.Equal(t, []value{{"DOUBLE", 1.5}, {"BOOL", true}, {"DOUBLE", 2.0}},
			p.get(t, "play.rate", "play.loop", "play.clock_publish_frequency"))
		p.requireChanged(t, map[string]value{"play.rate": {"DOUBLE", 1.5}})
		p.requireChanged(t, map[string]value{"play.clock_publish_frequency": {"DOUBLE", 2.0}})
	})

	t.Run("several clients at once", func(t *testing.T) {
		const clients, each = 4, 25
		var values []value
		for i := range each {
			values = append(values, value{"DOUBLE", 1 + float64(i)})
		}
		var successful int
		p.do(t, command{"op": "compete", "name": "play.rate", "values": values, "clients": clients}, &successful)
		require.Equal(t, clients*each, successful)
		last := p.get(t, "play.rate")[0]
		require.Equal(t, last[1], p.call(t, "/robot/player/get_rate", "GetRate", nil)["rate"])
		for range clients*each - 1 {
			p.do(t, command{"op": "event", "node": p.node}, nil)
		}
		p.requireChanged(t, map[string]value{"play.rate": last})
	})

	player.stop(t, 0)
	requireNoCrash(t, player)
}

// TestClockParameterWithoutClock has nothing to change the frequency of.
func TestClockParameterWithoutClock(t *testing.T) {
	w := newWorld(t)
	player := w.rosbagd(t, "play", w.makeBag(t, "counted", 10, time.Millisecond), "--start-paused")
	p := w.parameterPeer(t, "/rosbag2_player")
	p.connect(t)
	got := p.set(t, "play.clock_publish_frequency", value{"DOUBLE", 10})
	require.False(t, got.Successful)
	require.Contains(t, got.Reason, "publishes no /clock")
	require.Equal(t, []value{{"DOUBLE", 0.0}}, p.get(t, "play.clock_publish_frequency"))
	player.stop(t, 0)
}

// TestRecorderParameters records as a parameter file says; a flag wins over it.
func TestRecorderParameters(t *testing.T) {
	w := newWorld(t)
	p := w.parameterPeer(t, "/recorder")
	p.advertise(t, chatterTopic, stringType, nil)
	p.advertise(t, "/unwanted", stringType, nil)
	file := w.write(t, "recorder.yaml", `
recorder:
  ros__parameters:
    storage: {uri: `+w.path("bag")+`, custom_data: ["robot=r2"], max_cache_size: 1000000, storage_preset_profile: ""}
    record: {topics: ["chatter"], start_paused: true, topic_polling_interval: {sec: 0, nsec: 20000000}, compression_threads: 2}
`)
	recorder := w.rosbagd(t, "recorder", "--start-paused=false", "--ros-args", "--params-file", file)
	p.connect(t)
	require.Equal(t, []value{
		{"STRING_ARRAY", []any{"chatter"}},
		{"BOOL", false},
		{"INTEGER", 0.0},
		{"INTEGER", 2e7},
		{"INTEGER", 1e6},
		{"STRING_ARRAY", []any{"robot=r2"}},
		{"STRING", w.path("bag")},
		{"BOOL", false},
		{"BOOL", false},
		{"STRING", "mcap"},
	}, p.get(t, "record.topics", "record.start_paused", "record.topic_polling_interval.sec", "record.topic_polling_interval.nsec",
		"storage.max_cache_size", "storage.custom_data", "storage.uri", "record.all_topics", "use_sim_time", "storage.storage_id"))
	recorder.waitLine(t, `not have.*record\.compression_threads \(file `, startDeadline)
	got := p.set(t, "record.topics", value{"STRING_ARRAY", []string{"/unwanted"}})
	require.False(t, got.Successful)
	require.Contains(t, got.Reason, "read-only")

	p.publish(t, chatterTopic, stringMessage("hello"), 1)
	p.publish(t, "/unwanted", stringMessage("hello"), 0)
	recorder.waitLine(t, `Recording\.\.\.`, startDeadline)
	p.call(t, "/recorder/stop", "Stop", nil)
	recorder.stop(t, 0)
	requireNoCrash(t, recorder)
	require.Equal(t, map[string]int{chatterTopic: 1}, w.requireExactMetadata(t, w.path("bag")))
	metadata, err := os.ReadFile(w.path("bag", "metadata.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(metadata), "robot: r2")
}

// TestSimTimeByParameter waits for /clock because a parameter says so.
func TestSimTimeByParameter(t *testing.T) {
	w := newWorld(t)
	recorder := w.rosbagd(t, "record", "-o", w.path("bag"), chatterTopic, "--ros-args", "-p", "use_sim_time:=true")
	recorder.waitLine(t, "waiting for /clock before starting recording", startDeadline)
	p := w.parameterPeer(t, "/rosbag2_recorder")
	p.connect(t)
	require.Equal(t, []value{{"BOOL", true}}, p.get(t, "use_sim_time"))
	got := p.set(t, "use_sim_time", value{"BOOL", false})
	require.False(t, got.Successful)
	require.Contains(t, got.Reason, "read-only")
	recorder.stop(t, 0)
}

// TestBadParameters gives what can not be obeyed: one line says what, where and what to do.
func TestBadParameters(t *testing.T) {
	w := newWorld(t)
	bag := w.makeBag(t, "counted", 10, time.Millisecond)
	play := func(rosArguments ...string) []string {
		return append([]string{"play", bag, "--ros-args"}, rosArguments...)
	}
	record := func(rosArguments ...string) []string {
		return append([]string{"recorder", "-a", "--idle", "--ros-args"}, rosArguments...)
	}
	file := func(name, text string) string { return w.write(t, name, text) }
	for name, tc := range map[string]struct {
		arguments []string
		words     []string
	}{
		"no file":     {play("--params-file", "nowhere.yaml"), []string{"nowhere.yaml", "no such file"}},
		"no YAML":     {play("--params-file", file("bad.yaml", "a: b: c\n")), []string{"bad.yaml", "ros__parameters"}},
		"wrong type":  {play("--params-file", file("type.yaml", "/**:\n  ros__parameters: {play.loop: 1}\n")), []string{"play.loop", "type.yaml", "of type bool"}},
		"integer":     {play("-p", "play.rate:=2"), []string{"play.rate (-p)", "write 2.0"}},
		"range":       {play("--params-file", file("range.yaml", "/**:\n  ros__parameters: {play.rate: 0.0}\n")), []string{"play.rate", "range.yaml", "or more"}},
		"NaN":         {play("-p", "play.rate:=.nan"), []string{"play.rate", ".nan"}},
		"word":        {play("-p", "play.message_order:=random"), []string{"play.message_order", "RECEIVED_TIMESTAMP"}},
		"expression":  {play("-p", "play.regex_to_filter:='['"), []string{"play.regex_to_filter (-p)", "expression"}},
		"QoS file":    {play("-p", "play.qos_profile_overrides_path:=nowhere.yaml"), []string{"play.qos_profile_overrides_path (-p)", "nowhere.yaml"}},
		"storage":     {play("-p", "storage.storage_id:=tape"), []string{"tape"}},
		"no bag":      {[]string{"play", "--ros-args", "-p", "play.rate:=2.0"}, []string{"path of a bag"}},
		"preset":      {record("-p", "storage.storage_preset_profile:=best"), []string{"storage.storage_preset_profile (-p)", "zstd_fast"}},
		"custom data": {record("-p", "storage.custom_data:=[x]"), []string{"storage.custom_data (-p)", "KEY=VALUE"}},
		"interval":    {record("-p", "record.topic_polling_interval.nsec:=0"), []string{"record.topic_polling_interval.nsec (-p)", "greater than 0"}},
		"cache":       {record("-p", "storage.max_cache_size:=-1"), []string{"storage.max_cache_size (-p)", "0 or more"}},
		"sim time":    {record("-p", "use_sim_time:=1"), []string{"use_sim_time (-p)", "of type bool"}},
		"topic":       {record("-p", "record.topics:=['a b']"), []string{"record.topics (-p)", `"a b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.run(t, exitUsage, tc.arguments...)
			require.Regexp(t, `^[^\n]*\n$`, p.text(stderr), "one line")
			for _, word := range tc.words {
				require.Contains(t, p.text(stderr), word)
			}
		})
	}
}
