package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
)

// callProgram runs this program in a process of its own.
func callProgram(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code tells
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func countIn(t *testing.T, path string) uint64 {
	t.Helper()
	r, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	r.CheckFiles()
	require.Empty(t, r.Notes())
	return r.Metadata().MessageCount
}

func TestConvertCalls(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	options := at("options.yaml")
	require.NoError(t, os.WriteFile(options, []byte("output_bags:\n- uri: "+at("yaml")+"\n  topics: [/imu]\n- uri: "+at("none")+"\n"), 0o600))
	inputs := at("inputs.yaml")
	require.NoError(t, os.WriteFile(inputs, []byte("input_bags:\n- uri: "+rosbag2Bag+"\n"), 0o600))
	const split = "../../bag/testdata/rosbag2/sqlite3_split"
	for _, test := range []struct {
		name string
		args []string
		want string // on stdout
		warn string // on stderr
		bags map[string]uint64
	}{
		{"plain", []string{rosbag2Bag, "-o", at("plain")}, "plain: 465 messages of 18 topics in 1 file", "", map[string]uint64{"plain": 465}},
		{"storage", []string{"-i", rosbag2Bag, "mcap", "-o", at("db"), "-s", "sqlite3"}, "db: 465", "", map[string]uint64{"db": 465}},
		{"merge", []string{rosbag2Bag, split, "--output", at("merged")}, "merged: 932", "", map[string]uint64{"merged": 932}},
		{"merge by flags", []string{"-i", rosbag2Bag, "-i", split, "sqlite3", "-o", at("merged2")}, "merged2: 932", "", nil},
		{"options file", []string{"-i", rosbag2Bag, "-o", options}, "yaml: 58 messages of 1 topic in 1 file", "no topics are selected, the bag is empty", map[string]uint64{"yaml": 58, "none": 0}},
		{"input options", []string{"--input-options", inputs, "-o", at("from_yaml"), "--topics", "/imu", "/tick"}, "from_yaml: 82", "", nil},
		{"expression", []string{rosbag2Bag, "-o", at("regex"), "-e", "/t/(?!arr).*", "-x", "/t/w.*"}, "regex: 72", "", nil},
		{"services", []string{rosbag2Bag, "-o", at("services"), "--services", "/switch"}, "services: 48 messages of 1 topic", "", nil},
		{"types", []string{rosbag2Bag, "-o", at("types"), "--topic-types", "sensor_msgs/msg/Imu", "--exclude-topics", "/imu"}, "types: 0 messages of 0", "no topic of the inputs is selected", nil},
		{"rename and split", []string{rosbag2Bag, "-o", at("split"), "-m", "/imu:=/front/imu", "-d", "5", "--custom-data", "a=b"}, "split: 465 messages of 18 topics in", "", nil},
		{"times", []string{rosbag2Bag, "-o", at("times"), "--start-time", "2026-11-30T18:48:31Z", "--end-time", "1796064511.5"}, "times: ", "", nil},
		{"out of range", []string{rosbag2Bag, "-o", at("later"), "--start-time", "2027-11-30T18:48:31Z"}, "later: 0 messages", "no message is in the range of times", nil},
		{"old distro", []string{rosbag2Bag, "-o", at("humble"), "--distro", "Humble"}, "humble: 465", "", nil},
		{"new distro", []string{rosbag2Bag, "-o", at("lyrical"), "--distro", "lyrical"}, "lyrical: 465", "", nil},
		{"compressed", []string{rosbag2Bag, "-o", at("zstd"), "--compression-mode", "file", "--compression-format", "zstd"}, "zstd: 465", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := callProgram(t, append([]string{"convert"}, test.args...)...)
			require.Equal(t, exitOK, code, stderr)
			require.Contains(t, stdout, test.want)
			if test.warn == "" {
				require.Empty(t, stderr)
			} else {
				require.Contains(t, stderr, test.warn)
				require.Equal(t, 1, strings.Count(stderr, "\n"))
			}
			for name, count := range test.bags {
				require.Equal(t, count, countIn(t, at(name)))
			}
		})
	}
	data, err := os.ReadFile(filepath.Join(at("humble"), bag.MetadataName))
	require.NoError(t, err)
	require.Contains(t, string(data), "version: 5")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NotContains(t, entry.Name(), "partial")
	}
}

func TestWrongConvertCallsAreOneLineAndChangeNothing(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	file := func(name, text string) string {
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
		return at(name)
	}
	options := file("options.yaml", "output_bags:\n- uri: "+at("x")+"\n  all: true\n")
	other := file("other.yaml", "bags: []\n")
	words := file("words.yaml", "output_bags: all\n")
	require.NoError(t, os.Mkdir(at("taken"), 0o700))
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	in := rosbag2Bag
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":             {[]string{}, exitUsage, "give the bags to convert"},
		"no output":           {[]string{in}, exitUsage, "give --output"},
		"no input":            {[]string{"-o", at("x")}, exitUsage, "give the bags to convert"},
		"input not there":     {[]string{"nowhere", "-o", at("x")}, exitUsage, "Bag path 'nowhere' does not exist!"},
		"two bags behind -i":  {[]string{"-i", in, "other", "-o", at("x")}, exitUsage, "give --input for each bag"},
		"three behind -i":     {[]string{"-i", in, "a", "b", "-o", at("x")}, exitUsage, `b" for "-i, --input" flag: 1 or 2 words are expected`},
		"other storage":       {[]string{"-i", in, "sqlite3", "-o", at("x")}, exitUsage, "storage mcap"},
		"options not there":   {[]string{in, "-o", at("gone.yaml")}, exitUsage, "there is no such file of output options"},
		"options not there 2": {[]string{in, "--output-options", at("gone")}, exitUsage, "no such file"},
		"both outputs":        {[]string{in, "-o", at("x"), "--output-options", options}, exitUsage, "only one of them"},
		"other key":           {[]string{in, "-o", other}, exitFailed, "Output bag config YAML file must have top-level key 'output_bags'"},
		"no list":             {[]string{in, "-o", words}, exitFailed, "must contain a list of StorageOptions/RecordOptions dicts."},
		"input options":       {[]string{"--input-options", other, "-o", at("x")}, exitFailed, "top-level key 'input_bags'"},
		"both inputs":         {[]string{in, "--input-options", other, "-o", at("x")}, exitUsage, "--input-options: not together"},
		"flag and options":    {[]string{in, "-o", options, "--topics", "/a", "-s", "mcap"}, exitUsage, "--storage, --topics: not together"},
		"directory is there":  {[]string{in, "-o", at("taken")}, exitFailed, "already exists"},
		"onto itself":         {[]string{in, "-o", in}, exitFailed, "already exists"},
		"into itself":         {[]string{in, "-o", filepath.Join(in, "new")}, exitFailed, "it lies in the input"},
		"onto a bag file":     {[]string{in, "-o", filepath.Join(in, "mcap_plain_0.mcap")}, exitFailed, "is a bag file already"},
		"a device":            {[]string{in, "-o", "/dev/null"}, exitUsage, "not a regular file"},
		"storage unknown":     {[]string{in, "-o", at("x"), "-s", "ros1"}, exitUsage, "unknown storage id"},
		"preset of another":   {[]string{in, "-o", at("x"), "--storage-preset-profile", "resilient"}, exitUsage, "none, fastwrite, zstd_fast, zstd_small"},
		"mode unknown":        {[]string{in, "-o", at("x"), "--compression-mode", "all"}, exitUsage, "compression mode"},
		"format alone":        {[]string{in, "-o", at("x"), "--compression-format", "zstd"}, exitUsage, "without a compression mode"},
		"format unknown":      {[]string{in, "-o", at("x"), "--compression-mode", "file", "--compression-format", "rar"}, exitUsage, "rar"},
		"level":               {[]string{in, "-o", at("x"), "--compression-mode", "file", "--compression-level", "99"}, exitUsage, "99"},
		"split too small":     {[]string{in, "-o", at("x"), "-b", "5"}, exitUsage, "Invalid bag splitting size given. Please provide a value greater than 1024. Specified value of 5"},
		"split negative":      {[]string{in, "-o", at("x"), "-d", "-5"}, exitUsage, "--max-bag-duration"},
		"expression":          {[]string{in, "-o", at("x"), "-e", "("}, exitUsage, "--regex"},
		"exclusion":           {[]string{in, "-o", at("x"), "-x", "a)(b"}, exitUsage, "--exclude-regex"},
		"time":                {[]string{in, "-o", at("x"), "--start-time", "yesterday"}, exitUsage, "a time is nanoseconds since 1970"},
		"times swapped":       {[]string{in, "-o", at("x"), "--start-time", "20", "--end-time", "10"}, exitUsage, "lies before"},
		"two starts":          {[]string{in, "-o", at("x"), "--start-time", "20", "--start-offset", "10"}, exitUsage, "only one of them"},
		"no duration":         {[]string{in, "-o", at("x"), "--duration", "0"}, exitUsage, "--duration 0"},
		"rename":              {[]string{in, "-o", at("x"), "-m", "/a"}, exitUsage, "OLD:=NEW"},
		"rename to nonsense":  {[]string{in, "-o", at("x"), "-m", "/imu:=/a b"}, exitUsage, "--remap"},
		"rename clash":        {[]string{in, "-o", at("x"), "-m", "/imu:=/tick"}, exitFailed, "topic already has another type"},
		"version":             {[]string{in, "-o", at("x"), "--metadata-version", "3"}, exitUsage, "4 to 9"},
		"distro":              {[]string{in, "-o", at("x"), "--distro", "dashing"}, exitUsage, "is not known"},
		"distro and version":  {[]string{in, "-o", at("x"), "--distro", "humble", "--metadata-version", "9"}, exitUsage, "reads version 5"},
		"custom data":         {[]string{in, "-o", at("x"), "--custom-data", "a"}, exitUsage, "KEY=VALUE"},
		"config not there":    {[]string{in, "-o", at("x"), "--storage-config-file", at("gone")}, exitUsage, "no such file"},
		"two types":           {[]string{in, "--input", file("empty.mcap", ""), "-o", at("x")}, exitFailed, "file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := callProgram(t, append([]string{"convert"}, test.args...)...)
			require.Equal(t, test.code, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, test.want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			require.True(t, strings.HasPrefix(stderr, "[ERROR] [rosbagd]: "), stderr)
		})
	}
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, after, len(before)+1) // empty.mcap
	inside, err := os.ReadDir(in)
	require.NoError(t, err)
	require.Len(t, inside, 2)
}

// Damaged input is converted as far as it can be read, which the exit code tells.
func TestConvertDamagedInput(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	require.NoError(t, os.CopyFS(in, os.DirFS("../../bag/testdata/rosbag2/mcap_split")))
	require.NoError(t, os.Remove(filepath.Join(in, "mcap_split_1.mcap")))
	code, stdout, stderr := callProgram(t, "convert", in, "-o", filepath.Join(dir, "out"))
	require.Equal(t, exitDataLost, code)
	require.Contains(t, stdout, "out: ")
	require.Contains(t, stderr, "mcap_split_1.mcap")
	require.Contains(t, stderr, "may be missing")
	require.Equal(t, uint64(467-154), countIn(t, filepath.Join(dir, "out")))
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1741338902500000000": 1741338902500000000, "1741338902.5": 1741338902500000000, "1741338902.123456789": 1741338902123456789,
		".5": 500000000, "5.": 5000000000, "2025-03-07T09:15:02.5Z": 1741338902500000000, "2025-03-07t10:15:02.5+01:00": 1741338902500000000,
	} {
		got, err := parseTime(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", ".", "-1", "1e9", "1.2.3", "1.1234567891", "99999999999999999999", "9999999999999.5", "2025-03-07", "1960-01-01T00:00:00Z", "+5", "1_000"} {
		_, err := parseTime(text)
		require.Error(t, err, text)
	}
}
