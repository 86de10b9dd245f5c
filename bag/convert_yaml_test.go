package bag_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
)

func noFiles(string) ([]byte, error) { return nil, os.ErrNotExist }

func parseFile(t *testing.T, name string) []bag.ConvertOutput {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/convert", name))
	require.NoError(t, err)
	outputs, err := bag.ParseOutputs(name, data, noFiles)
	require.NoError(t, err)
	return outputs
}

func TestOutputOptions(t *testing.T) {
	all := parseFile(t, "all.yaml")
	require.Len(t, all, 1)
	require.Equal(t, bag.ConvertOutput{
		Path: "everything", Selection: bag.Selection{AllTopics: true, AllServices: true, AllActions: true},
	}, all[0])

	full := parseFile(t, "full.yaml")
	require.Len(t, full, 2)
	one := full[0]
	for name, hit := range map[string]bool{"/front/camera": true, "/x": false} {
		got, err := one.Selection.Regex.Matches(name)
		require.NoError(t, err)
		require.Equal(t, hit, got, name)
	}
	for name, hit := range map[string]bool{"/x/debug_1": true, "/frontdebug": false} {
		got, err := one.Selection.ExcludeRegex.Matches(name)
		require.NoError(t, err)
		require.Equal(t, hit, got, name)
	}
	one.Selection.Regex, one.Selection.ExcludeRegex = bag.Expression{}, bag.Expression{}
	require.Equal(t, bag.ConvertOutput{
		Path: "one", Format: "cdr", Times: bag.TimeRange{FromNanos: 100, UntilNanos: 200, HasUntil: true},
		Selection: bag.Selection{
			AllServices: true, IncludeHidden: true,
			Topics: []string{"/a", "/b"}, TopicTypes: []string{"std_msgs/msg/String"}, Services: []string{"/add/_service_event"},
			Actions: []string{"/fib"}, ExcludeTopics: []string{"/c"}, ExcludeTopicTypes: []string{}, ExcludeServices: []string{"/x"},
		},
		Writer: bag.WriterOptions{
			StorageID: "sqlite3", Preset: "none", MaxSize: 1_000_000, MaxDuration: 30 * time.Second, CompressionMode: "file",
			CompressionFormat: "zstd", CompressionThreads: 3, CustomData: map[string]string{"robot": "7", "place": ""},
		},
	}, one)
	two := full[1]
	require.True(t, two.Selection.AllActions)
	require.False(t, two.Selection.ExcludeRegex.Empty())
	require.Equal(t, bag.TimeRange{}, two.Times)
	require.Len(t, two.Notes, 1)

	humble := parseFile(t, "humble.yaml")
	require.False(t, humble[0].Selection.ExcludeRegex.Empty())
	anchors := parseFile(t, "anchors.yaml")
	require.Equal(t, "b", anchors[1].Path)
	require.True(t, anchors[1].Selection.AllTopics)
	require.True(t, parseFile(t, "no_selection.yaml")[0].Selection.Empty())
}

func TestOutputOptionsThatAreWrong(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":        {"", "Output bag config YAML file must have top-level key 'output_bags'"},
		"other key":      {"bags: []", "Output bag config YAML file must have top-level key 'output_bags'"},
		"a list":         {"- output_bags", "must have top-level key 'output_bags'"},
		"no list":        {"output_bags: {uri: x}", "f:1: Top-level key 'output_bags' must contain a list of StorageOptions/RecordOptions dicts."},
		"null":           {"output_bags:", "must contain a list"},
		"empty list":     {"output_bags: []", "must contain a list"},
		"list of words":  {"output_bags:\n- x", "f:2: Top-level key 'output_bags' must contain a list"},
		"no yaml":        {"output_bags: [", "f: line 1"},
		"no uri":         {"output_bags:\n- all: true", "f:2: output_bags[0]: uri is missing"},
		"wrong type":     {"output_bags:\n- uri: a\n- uri: x\n  max_bagfile_size: many", "f:3: output_bags[1]: line 4"},
		"list for name":  {"output_bags:\n- uri: [x]", "line 2"},
		"expression":     {"output_bags:\n- uri: x\n  regex: '('", "f:2: output_bags[0]: regex:"},
		"exclusion":      {"output_bags:\n- uri: x\n  exclude: ')'", "exclude_regex:"},
		"negative size":  {"output_bags:\n- uri: x\n  max_bagfile_size: -1", "max_bagfile_size -1"},
		"long duration":  {"output_bags:\n- uri: x\n  max_bagfile_duration: 9223372036854775807", "max_bagfile_duration"},
		"snapshot":       {"output_bags:\n- uri: x\n  snapshot_mode: true", "snapshot_mode"},
		"missing config": {"output_bags:\n- uri: x\n  storage_config_uri: gone.yaml", "storage_config_uri"},
		"merged loop":    {"output_bags: &a\n- *a", "must contain a list"},
		"huge":           {"output_bags:\n- uri: " + strings.Repeat("x", 2<<20), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bag.ParseOutputs("f", []byte(test.text), noFiles)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "yaml.v3")
		})
	}
}

func TestInputOptions(t *testing.T) {
	text := "input_bags:\n- uri: a\n  storage_id: sqlite3\n  start_time_ns: 5\n- {uri: b, storage_config_uri: c.yaml}\n"
	inputs, err := bag.ParseInputs("f", []byte(text), func(string) ([]byte, error) { return []byte("read: {}"), nil })
	require.NoError(t, err)
	require.Len(t, inputs, 2)
	require.Equal(t, bag.ConvertInput{Path: "a", StorageID: "sqlite3", Times: bag.TimeRange{FromNanos: 5}}, inputs[0])
	require.Equal(t, "c.yaml", inputs[1].Config.Path)
	for _, wrong := range []string{"", "output_bags: []", "input_bags: 1", "input_bags: [{}]", "input_bags: [{uri: {}}]"} {
		_, err := bag.ParseInputs("f", []byte(wrong), noFiles)
		require.Error(t, err, wrong)
	}
}

// Whatever is in the files, there is an answer that names the file.
func FuzzOutputOptions(f *testing.F) {
	files, err := filepath.Glob("testdata/convert/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, text := range []string{
		"", "output_bags:", "input_bags: [{uri: a}]", "output_bags: [*x]", "a: &a [*a]\noutput_bags: *a", "output_bags: [{<<: {uri: a}}]",
		"output_bags: [{uri: a, regex: '(?<x>a)\\k<x>'}]", "output_bags: [{uri: !!binary aGk=}]", "output_bags:\n- uri: a\n  uri: b", "\xff\xfe",
	} {
		f.Add([]byte(text))
	}
	read := func(string) ([]byte, error) { return nil, errors.New("not here") }
	f.Fuzz(func(t *testing.T, data []byte) {
		outputs, err := bag.ParseOutputs("options.yaml", data, read)
		if err != nil {
			require.Contains(t, err.Error(), "options.yaml")
		}
		for _, out := range outputs {
			require.NotEmpty(t, out.Path)
			require.GreaterOrEqual(t, out.Writer.MaxSize, int64(0))
			require.GreaterOrEqual(t, out.Writer.MaxDuration, time.Duration(0))
		}
		inputs, err := bag.ParseInputs("options.yaml", data, read)
		if err != nil {
			require.Contains(t, err.Error(), "options.yaml")
		}
		for _, in := range inputs {
			require.NotEmpty(t, in.Path)
		}
	})
}
