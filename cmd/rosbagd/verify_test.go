package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// brokenBag is a bag of rosbag2 with a hole in its first chunk.
func brokenBag(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bag")
	require.NoError(t, os.CopyFS(path, os.DirFS("../../bag/testdata/rosbag2/mcap_zstd_fast")))
	name := filepath.Join(path, "mcap_zstd_fast_0.mcap")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	clear(data[5000:6000])
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return path
}

func TestVerify(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run([]string{"verify", rosbag2Bag}, &stdout, &stderr), stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	for _, line := range lines[:len(lines)-1] {
		require.Regexp(t, `^notice  \.\./\.\./bag/testdata/rosbag2/mcap_plain/mcap_plain_0\.mcap: at byte \d+: `, line)
	}
	require.Equal(t, rosbag2Bag+": 1 file, 465 messages: 0 damages, 0 faults, 3 notices", lines[len(lines)-1])
	require.Empty(t, stderr.String())

	stdout.Reset()
	require.Equal(t, exitOK, run([]string{"verify", "-q", rosbag2Bag}, &stdout, &stderr))
	require.Equal(t, 1, strings.Count(stdout.String(), "\n"))
}

func TestVerifyOfABrokenBag(t *testing.T) {
	path := brokenBag(t)
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, run([]string{"verify", path}, &stdout, &stderr))
	require.Regexp(t, `(?m)^damage  `+path+`/mcap_zstd_fast_0\.mcap: at byte \d+: chunk: `, stdout.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	require.Contains(t, stderr.String(), path+" is not sound: 1 damage")

	stdout.Reset()
	require.Equal(t, exitFailed, run([]string{"verify", "--json", path}, &stdout, &stderr))
	var document struct {
		Sound    bool
		Damages  int
		Findings []struct {
			Severity, Path, Text string
			Offset               *int64
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &document))
	require.False(t, document.Sound)
	require.Equal(t, 1, document.Damages)
	require.Equal(t, "damage", document.Findings[0].Severity)
	require.Positive(t, *document.Findings[0].Offset)
}

func TestInfoWithTopicsAndVerbose(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run([]string{"info", rosbag2Bag, "-t", "-v"}, &stdout, &stderr))
	require.Equal(t, "Warning! You have set both the '-t' and '-v' parameters. The '-t' parameter will be ignored.\n", stderr.String())
	require.Contains(t, stdout.String(), "Size Contribution: ")

	stdout.Reset()
	require.Equal(t, exitOK, run([]string{"info", rosbag2Bag, "-t"}, &stdout, &stderr))
	require.True(t, strings.HasPrefix(stdout.String(), "/cam/image\n/dead_line\n"), stdout.String())
	require.NotContains(t, stdout.String(), "service")
}

func TestInfoJSONIsOneDocument(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run([]string{"info", rosbag2Bag, "--json", "-v"}, &stdout, &stderr), stderr.String())
	var document map[string]any
	decoder := json.NewDecoder(&stdout)
	require.NoError(t, decoder.Decode(&document))
	require.False(t, decoder.More())
	require.Contains(t, document, "rosbag2_bagfile_information")
	require.Contains(t, document, "topic_statistics")
	require.Equal(t, []any{}, document["notes"], "a list, not null, where there are none")
	require.Empty(t, stderr.String())
}

// TestInfoOfABagWithoutItsFiles shows what metadata.yaml tells, and fails.
func TestInfoOfABagWithoutItsFiles(t *testing.T) {
	path := brokenBag(t)
	require.NoError(t, os.Remove(filepath.Join(path, "mcap_zstd_fast_0.mcap")))
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, run([]string{"info", path}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "Storage id:        mcap\n")
	require.Contains(t, stderr.String(), "[WARN] [rosbagd]: "+path)
	require.Contains(t, stderr.String(), "[ERROR] [rosbagd]: "+path+": none of its files can be read")
}
