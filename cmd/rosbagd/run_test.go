package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/bag"
)

// asProgram makes this test binary be the program itself, for what is to be ended by a signal.
const asProgram = "ROSBAGD_TEST_AS_PROGRAM"

// Signals are watched until the process ends, see signalContext.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(withVerb(append([]string{"rosbagd"}, os.Args[1:]...)), os.Stdout, os.Stderr))
	}
	// What is unpacked goes nowhere else.
	cache, err := os.MkdirTemp("", "rosbagd-test-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(bag.CacheDirectoryVariable, cache); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("rosbagd/cmd/rosbagd.signalContext.func1"), goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(cache); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

// command is this program in a process of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

const rosbag2Bag = "../../bag/testdata/rosbag2/mcap_plain"

// Every call here ends before a node would be opened, so the results are the same with and without ROS.
func TestWrongCallsAreOneLineAndChangeNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.Mkdir(taken, 0o700))
	text := file("notes.txt", "hello")
	empty := file("empty.mcap", "")
	yaml := file("qos.yaml", "/a:\n  depth: many\n")
	out := filepath.Join(dir, "out")
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown verb":         {[]string{"rekord"}, exitUsage, "unknown command"},
		"unknown flag":         {[]string{"play", "x", "--speed", "2"}, exitUsage, "unknown flag: --speed"},
		"no bag given":         {[]string{"play"}, exitUsage, "path of a bag"},
		"rate of nothing":      {[]string{"play", "x", "-r", "0"}, exitUsage, "valid range (> 0.0)"},
		"rate not a number":    {[]string{"play", "x", "-r", "nan"}, exitUsage, "valid range (> 0.0)"},
		"rate without end":     {[]string{"play", "x", "-r", "inf"}, exitUsage, "valid range (> 0.0)"},
		"rate a word":          {[]string{"play", "x", "-r", "fast"}, exitUsage, `invalid argument "fast" for "-r, --rate" flag: invalid syntax`},
		"clock backwards":      {[]string{"play", "x", "--clock", "-1"}, exitUsage, "-1"},
		"two clocks":           {[]string{"play", "x", "--clock", "--clock-topics-all"}, exitUsage, "only one of them"},
		"offset negative":      {[]string{"play", "x", "--start-offset", "-1"}, exitUsage, "valid range (>= 0.0"},
		"order unknown":        {[]string{"play", "x", "--message-order", "random"}, exitUsage, "received, sent"},
		"latched unknown":      {[]string{"play", "x", "--latched", "maybe"}, exitUsage, "start, seek, off"},
		"overrides not there":  {[]string{"play", "x", "--qos-profile-overrides-path", "/nowhere.yaml"}, exitUsage, "no such file"},
		"overrides malformed":  {[]string{"play", "x", "--qos-profile-overrides-path", yaml}, exitFailed, "qos.yaml:2: topic /a: key depth"},
		"nothing to record":    {[]string{"record", "-o", out}, exitUsage, "nothing to record"},
		"a name like record":   {[]string{"recor"}, exitUsage, `did you mean "record"?`},
		"a verb of rosbag2":    {[]string{"burst"}, exitUsage, "does not have yet"},
		"a flag of rosbag2":    {[]string{"record", "-a", "-o", out, "--snapshot-mode"}, exitUsage, "does not have yet"},
		"a short one of them":  {[]string{"record", "-a", "-o", out, "-b", "1000"}, exitUsage, "-b (--max-bag-size) is a flag of rosbag2"},
		"a short one of play":  {[]string{"player", "-i", "x"}, exitUsage, "-i (--input) is a flag of rosbag2"},
		"a short one of none":  {[]string{"record", "-a", "-o", out, "-z"}, exitUsage, "unknown shorthand flag: 'z'"},
		"a verb with flags":    {[]string{"burst", "-s", "x", "y"}, exitUsage, "a verb of rosbag2"},
		"a name with flags":    {[]string{"recor", "--all"}, exitUsage, `did you mean "record"?`},
		"no verb but a flag":   {[]string{"--all"}, exitUsage, "unknown flag: --all"},
		"two bags":             {[]string{"play", "x", "y"}, exitUsage, "one bag only"},
		"node name":            {[]string{"play", "x", "--node-name", "a b"}, exitUsage, "only letters"},
		"remap":                {[]string{"play", "x", "-m", "bad"}, exitUsage, "OLD:=NEW"},
		"expression":           {[]string{"play", "x", "-e", "["}, exitUsage, "expression"},
		"log level":            {[]string{"play", "x", "--log-level", "loud"}, exitUsage, "debug, info"},
		"keys while recording": {[]string{"record", "-a", "-o", out, "--disable-keyboard-controls=false"}, exitUsage, "no keys"},
		"info as another":      {[]string{"info", rosbag2Bag, "-s", "sqlite3"}, exitUsage, "storage mcap"},
		"a path as topic":      {[]string{"record", "-o", out, "./run1"}, exitUsage, "only letters"},
		"output exists":        {[]string{"record", "-a", "-o", taken}, exitFailed, "already exists"},
		"storage unknown":      {[]string{"record", "-a", "-o", out, "-s", "tape"}, exitUsage, "unknown storage id"},
		"preset unknown":       {[]string{"record", "-a", "-o", out, "--storage-preset-profile", "best"}, exitUsage, "none, fastwrite, zstd_fast, zstd_small"},
		"preset of another":    {[]string{"record", "-a", "-o", out, "-s", "sqlite3", "--storage-preset-profile", "fastwrite"}, exitUsage, "resilient, none"},
		"cache negative":       {[]string{"record", "-a", "-o", out, "--max-cache-size", "-1"}, exitUsage, "negative"},
		"custom data":          {[]string{"record", "-a", "-o", out, "--custom-data", "x"}, exitUsage, "KEY=VALUE"},
		"info of nothing":      {[]string{"info", filepath.Join(dir, "nothing")}, exitUsage, "does not exist!"},
		"info of a text":       {[]string{"info", text}, exitFailed, "not a bag file"},
		"info of no bytes":     {[]string{"info", empty}, exitFailed, "empty"},
		"info of a directory":  {[]string{"info", dir + "/taken"}, exitFailed, "could not find metadata"},
		"info as tape":         {[]string{"info", rosbag2Bag, "-s", "tape"}, exitUsage, "unknown storage id"},
		"names as JSON":        {[]string{"info", rosbag2Bag, "-t", "--json"}, exitUsage, "choose one of them"},
		"verify nothing":       {[]string{"verify", filepath.Join(dir, "nothing")}, exitUsage, "does not exist!"},
		"verify as tape":       {[]string{"verify", rosbag2Bag, "-s", "tape"}, exitUsage, "unknown storage id"},
		"info of two bags":     {[]string{"info", rosbag2Bag, rosbag2Bag}, exitUsage, "one bag only"},
		"info sorted oddly":    {[]string{"info", rosbag2Bag, "--sort", "age"}, exitUsage, "name, type, count"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, tc.code, run(tc.args, &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), tc.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %q", stderr.String())
			require.Empty(t, stdout.String())
			require.NoDirExists(t, out)
		})
	}
}

func TestInfoOfABagOfRosbag2(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run([]string{"info", rosbag2Bag}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "Storage id:        mcap\n")
	require.Contains(t, stdout.String(), "Topic: /imu | Type: sensor_msgs/msg/Imu | Count: ")
	require.Empty(t, stderr.String())
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{}, {"--ros-args", "-r", "__ns:=/x"}, {"--help"}, {"record", "--help"}, {"play", "-h"}, {"--version"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run(args, &stdout, &stderr), args)
		require.Contains(t, stdout.String(), "rosbagd", args)
		require.Empty(t, stderr.String(), args)
	}
}
