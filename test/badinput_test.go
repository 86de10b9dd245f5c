//go:build ros

package test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// badInputs lays out things that are no bag in the directory of the world.
func (w *world) badInputs(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Mkdir(w.path("directory.mcap"), 0o755))
	require.NoError(t, os.Mkdir(w.path("taken"), 0o755))
	for name, content := range map[string]string{
		"text.mcap":       "this is no bag\n",
		"truncated.mcap":  "\x89MCAP0",
		"empty.mcap":      "",
		"malformed.yaml":  "/chatter:\n  depth: [\n",
		"unknownkey.yaml": "/chatter:\n  colour: red\n",
		"badword.yaml":    "/chatter:\n  reliability: perhaps\n  depth: 1\n",
		"taken/notes.txt": "somebody's notes\n",
	} {
		require.NoError(t, os.WriteFile(w.path(name), []byte(content), 0o644))
	}
}

// TestBadInput gives every verb what it can not use: it says so in one line, with the right exit code, and touches
// nothing.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	w.badInputs(t)
	bag := w.makeBag(t, "good", 10, time.Millisecond)

	type bad struct {
		name      string
		arguments []string
		code      int
		word      string
	}
	tests := []bad{
		{"output directory exists", []string{"record", "-o", "taken", "/chatter"}, exitFailed, "already exists"},
		{"output is a bag", []string{"record", "-o", "good", "/chatter"}, exitFailed, "already exists"},
		{"output can not be made", []string{"record", "-o", "/proc/no/bag", "/chatter"}, exitFailed, "/proc/no"},
		{"topic name with a space", []string{"record", "-o", "new", "/chat ter"}, exitUsage, "/chat ter"},
		{"topic name that begins with a digit", []string{"record", "-o", "new", "/1st"}, exitUsage, "/1st"},
		{"a path for a topic", []string{"record", "-o", "new", "./bag.mcap"}, exitUsage, "./bag.mcap"},
		{"nothing to record", []string{"record", "-o", "new"}, exitUsage, "nothing to record"},
		{"overrides malformed", []string{"record", "-o", "new", "--qos-profile-overrides-path", "malformed.yaml", "/chatter"}, exitFailed, "malformed.yaml"},
		{"overrides with an unknown key", []string{"record", "-o", "new", "--qos-profile-overrides-path", "unknownkey.yaml", "/chatter"}, exitFailed, "colour"},
		{"overrides with an unknown word", []string{"record", "-o", "new", "--qos-profile-overrides-path", "badword.yaml", "/chatter"}, exitFailed, "perhaps"},
		{"overrides missing", []string{"record", "-o", "new", "--qos-profile-overrides-path", "nowhere.yaml", "/chatter"}, exitUsage, "nowhere.yaml"},
		{"unknown storage", []string{"record", "-o", "new", "-s", "floppy", "/chatter"}, exitUsage, "floppy"},
		{"unknown preset", []string{"record", "-o", "new", "--storage-preset-profile", "quick", "/chatter"}, exitUsage, "quick"},
		{"negative cache", []string{"record", "-o", "new", "--max-cache-size", "-1", "/chatter"}, exitUsage, "--max-cache-size"},
		{"unknown ROS argument of record", []string{"record", "-o", "new", "/chatter", "--ros-args", "--frobnicate"}, exitUsage, "--frobnicate"},
		{"path of messages that is not there", []string{"record", "-o", "new", "--msg-path", "nowhere", "/chatter"}, exitUsage, "nowhere"},
		{"path of messages without packages", []string{"record", "-o", "new", "--msg-path", bag, "/chatter"}, exitUsage, "no package"},
		{"path of messages that is a file", []string{"play", bag, "--msg-path", "malformed.yaml"}, exitUsage, "malformed.yaml"},
		{"unknown flag of record", []string{"record", "-o", "new", "--frobnicate", "/chatter"}, exitUsage, "--frobnicate"},
		{"rate 0", []string{"play", bag, "-r", "0"}, exitUsage, "rate"},
		{"rate below 0", []string{"play", bag, "-r", "-2"}, exitUsage, "rate"},
		{"rate NaN", []string{"play", bag, "-r", "nan"}, exitUsage, "rate"},
		{"rate infinite", []string{"play", bag, "-r", "inf"}, exitUsage, "rate"},
		{"rate no number", []string{"play", bag, "-r", "fast"}, exitUsage, "fast"},
		{"start offset below 0", []string{"play", bag, "--start-offset", "-1"}, exitUsage, "start-offset"},
		{"unknown ROS argument of play", []string{"play", bag, "--ros-args", "--frobnicate"}, exitUsage, "--frobnicate"},
		{"unknown flag of play", []string{"play", bag, "--frobnicate"}, exitUsage, "--frobnicate"},
		{"overrides of play malformed", []string{"play", bag, "--qos-profile-overrides-path", "malformed.yaml"}, exitFailed, "malformed.yaml"},
		{"unknown verb", []string{"frobnicate"}, exitUsage, "frobnicate"},
	}
	for _, verb := range []string{"info", "play", "player"} {
		tests = append(
			tests,
			bad{verb + " of nothing", []string{verb}, exitUsage, verb},
			bad{verb + " of a missing bag", []string{verb, "nowhere"}, exitUsage, "nowhere"},
			bad{verb + " of a directory without a bag", []string{verb, "directory.mcap"}, exitFailed, "directory.mcap"},
			bad{verb + " of a text file", []string{verb, "text.mcap"}, exitFailed, "text.mcap"},
			bad{verb + " of a truncated magic", []string{verb, "truncated.mcap"}, exitFailed, "truncated.mcap"},
			bad{verb + " of an empty file", []string{verb, "empty.mcap"}, exitFailed, "nothing can be recovered"},
		)
	}

	require.NoError(t, os.RemoveAll(w.path("ros-log"))) // whatever ROS logs there is no bag
	before := treeHash(t, w.directory)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := w.run(t, test.code, test.arguments...)
			requireOneClearLine(t, p, test.word)
			require.NoError(t, os.RemoveAll(w.path("ros-log")))
			require.Equal(t, before, treeHash(t, w.directory), "something was created, changed or left behind")
		})
	}
}

// TestRecordUnknownType meets a topic whose type is not installed: one warning, and all is recorded.
func TestRecordUnknownType(t *testing.T) {
	w := newWorld(t)
	bag := w.path("bag")
	ghost := w.launch(t, pipedInput, tool(t, "ghost"), "ghost_msgs", "Ghost", "/ghost")
	ghost.waitLine(t, "^ready$", startDeadline)
	recorder := w.record(t, bag, "--topics", "/ghost", "/load/t0", "/load/t1")
	publisher := w.load(t, "pub", "--topics", "2", "--count", "150")
	publisher.requireExit(t, 0, startDeadline)
	recorder.stop(t, 0)

	recorder.waitLine(t, `WARN.*/ghost`, stopDeadline)
	recorder.waitLine(t, `ghost_msgs/msg/Ghost`, stopDeadline)
	warnings := 0
	lines, _ := recorder.after(0)
	for _, line := range lines {
		if warning(line.text) {
			warnings++
		}
	}
	require.Equal(t, 1, warnings, recorder.dump())
	requireNoCrash(t, recorder)
	require.Equal(t, map[string]int{"/load/t0": 150, "/load/t1": 150}, w.requireExactMetadata(t, bag))
}

// TestInfoReadsForeignYAML reads a metadata.yaml that another program wrote, with anchors and aliases.
func TestInfoReadsForeignYAML(t *testing.T) {
	w := newWorld(t)
	bag := w.makeBag(t, "aliased", 10, time.Millisecond)
	aliased := w.script(t, "alias_yaml.py", bag+"/metadata.yaml")
	aliased.requireExit(t, 0, startDeadline)
	info := w.run(t, 0, "info", bag)
	require.Contains(t, info.text(stdout), "Topic: /count | Type: std_msgs/msg/String | Count: 10 |")
}
