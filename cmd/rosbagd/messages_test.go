package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestComplaintsSayWhatToDo has what a stranger does wrong, and what it is answered with.
func TestComplaintsSayWhatToDo(t *testing.T) {
	plain := copyOf(t, filepath.Join(foreignBags, "mcap_plain"))
	ros1 := filepath.Join(t.TempDir(), "old.bag")
	require.NoError(t, os.WriteFile(ros1, []byte("#ROSBAG V2.0\n"), 0o600))
	out := filepath.Join(t.TempDir(), "out")
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no bag":                    {[]string{"info"}, exitUsage, "rosbagd info: give the path of a bag\n"},
		"no bag, lists":             {[]string{"play"}, exitUsage, "before flags that take a list"},
		"a flag of another verb":    {[]string{"info", "--input", plain}, exitUsage, "unknown flag: --input"},
		"metadata.yaml":             {[]string{"info", filepath.Join(plain, "metadata.yaml")}, exitFailed, "give the directory that it is in"},
		"ROS 1":                     {[]string{"info", ros1}, exitFailed, "rosbags-convert"},
		"no output options":         {[]string{"convert", plain, "--output-options", ros1 + ".yaml"}, exitUsage, "--output-options: " + ros1 + ".yaml: there is no such file\n"},
		"no input options":          {[]string{"convert", "--input-options", ros1 + ".yaml", "-o", out}, exitUsage, "--input-options: " + ros1 + ".yaml: there is no such file\n"},
		"no storage config":         {[]string{"convert", plain, "-o", out, "--storage-config-file", ros1 + ".yaml"}, exitUsage, "--storage-config-file: " + ros1 + ".yaml: there is no such file\n"},
		"config directory":          {[]string{"convert", plain, "-o", out, "--storage-config-file", plain}, exitUsage, "not a regular file"},
		"threads":                   {[]string{"convert", plain, "-o", out, "--compression-threads", "-1"}, exitUsage, "--compression-threads -1: must not be negative"},
		"other storage":             {[]string{"info", plain, "-s", "sqlite3"}, exitUsage, "as sqlite3: bag is of another storage: storage mcap"},
		"other storage for reindex": {[]string{"reindex", plain, "-s", "sqlite3"}, exitUsage, "as sqlite3: bag is of another storage: storage mcap"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := call(test.args...)
			require.Equal(t, test.code, code, stderr)
			require.Contains(t, stderr, test.says)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

func TestConvertTellsOfWhatIsHardlyMeant(t *testing.T) {
	plain := filepath.Join(foreignBags, "mcap_plain")
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := call("convert", plain, "-o", out+"1", "--start-time", "1796064505", "--end-time", "1796064506")
	require.Equal(t, exitOK, code)
	require.Contains(t, stderr, "(1.796064505) to ")
	require.Contains(t, stderr, "(1.796064506); those of the inputs go from ")
	code, _, stderr = call("convert", plain, "-o", out+"2", "--max-bag-size", "20000", "--topics", "/cam/image", "/tick")
	require.Equal(t, exitOK, code)
	require.Empty(t, stderr)
	code, _, stderr = call("convert", plain, "-o", out+"3", "--max-bag-size", "1025", "--topics", "/cam/image", "/tick")
	require.Equal(t, exitOK, code)
	require.Contains(t, stderr, "36 messages fill 35 files, ")
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestAMissingFileIsToldOnce(t *testing.T) {
	directory := copyOf(t, filepath.Join(foreignBags, "mcap_split"))
	path := filepath.Join(directory, "mcap_split_2.mcap")
	require.NoError(t, os.Remove(path))
	const sentence = "mcap_split_2.mcap: is missing: metadata.yaml lists it\n"

	_, _, stderr := call("info", directory)
	require.Equal(t, "[WARN] [rosbagd]: "+filepath.Join(directory, sentence), stderr)
	code, _, stderr := call("convert", directory, "-o", filepath.Join(t.TempDir(), "out"))
	require.Equal(t, exitDataLost, code)
	require.Equal(t, 1, strings.Count(stderr, "mcap_split_2.mcap"), stderr)
	require.Contains(t, stderr, sentence)
	code, _, stderr = call("reindex", directory)
	require.Equal(t, exitOK, code)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Contains(t, stderr, "1 of 5 files that the old metadata.yaml lists are not there: mcap_split_2.mcap")
	_, _, stderr = call("reindex", directory)
	require.Empty(t, stderr)
}

func TestVerifySaysWhatHelps(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(directory string) error
		says   string
	}{
		"no metadata": {func(directory string) error {
			return os.Remove(filepath.Join(directory, "metadata.yaml"))
		}, "('rosbagd reindex' makes metadata.yaml anew)"},
		"cut": {func(directory string) error {
			return os.Truncate(filepath.Join(directory, "mcap_plain_0.mcap"), 50_000)
		}, "'rosbagd reindex --repair' keeps"},
		"wrong index": {func(directory string) error {
			path := filepath.Join(directory, "mcap_plain_0.mcap")
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[20480] ^= 0xff // within a definition, which the summary repeats
			return os.WriteFile(path, data, 0o600)
		}, "('rosbagd convert' writes its files anew)"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := copyOf(t, filepath.Join(foreignBags, "mcap_plain"))
			require.NoError(t, test.damage(directory))
			code, stdout, stderr := call("verify", directory)
			require.Equal(t, exitFailed, code)
			require.Contains(t, stderr, test.says, stdout)
			require.NotContains(t, stdout, "EOF")
		})
	}
	malformed := copyOf(t, filepath.Join(foreignBags, "mcap_plain"))
	require.NoError(t, os.WriteFile(filepath.Join(malformed, "metadata.yaml"), []byte("x: 1\n"), 0o600))
	_, stdout, _ := call("verify", malformed)
	require.Contains(t, stdout, "metadata.yaml: line 1: malformed metadata")
}
