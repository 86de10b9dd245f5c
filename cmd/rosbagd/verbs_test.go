package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

const foreignBags = "../../bag/testdata/rosbag2"

// call carries out one call and returns its exit code and what it printed.
func call(args ...string) (code int, stdout, stderr string) {
	var out, complaints bytes.Buffer
	code = run(args, &out, &complaints)
	return code, out.String(), complaints.String()
}

func copyOf(t *testing.T, directory string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), filepath.Base(directory))
	require.NoError(t, os.CopyFS(copied, os.DirFS(directory)))
	return copied
}

// requireVerb carries out a call on a bag and requires its exit code. A failure is one line; what is not an error has
// none, and nothing ever looks like a crash.
func requireVerb(t *testing.T, code int, args ...string) string {
	t.Helper()
	got, stdout, stderr := call(args...)
	shown := strings.Join(args, " ") + "\n" + stderr
	require.Equal(t, code, got, shown)
	for _, trace := range []string{"goroutine ", "panic", "runtime error"} {
		require.NotContains(t, stdout+stderr, trace, shown)
	}
	failures := strings.Count(stderr, "[ERROR] [rosbagd]: ")
	if code == exitOK || code == exitDataLost {
		require.Zero(t, failures, shown)
	} else {
		require.Equal(t, 1, failures, shown)
		require.True(t, strings.HasPrefix(lastLine(stderr), "[ERROR] [rosbagd]: "), shown)
	}
	return stdout
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestEveryVerbOnEveryBag carries out each verb that works on files on each bag in testdata.
func TestEveryVerbOnEveryBag(t *testing.T) {
	t.Setenv(bag.CacheDirectoryVariable, t.TempDir())
	text, err := os.ReadFile(filepath.Join(foreignBags, "expected.json"))
	require.NoError(t, err)
	var counts map[string]struct{ Messages uint64 }
	require.NoError(t, json.Unmarshal(text, &counts))
	entries, err := os.ReadDir(foreignBags)
	require.NoError(t, err)
	for _, entry := range entries {
		name, directory := entry.Name(), filepath.Join(foreignBags, entry.Name())
		if !entry.IsDir() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := counts[name].Messages
			if want == 0 { // its only file is empty
				for _, args := range [][]string{
					{"info", directory},
					{"info", "-v", directory},
					{"info", "--json", directory},
					{"verify", directory},
					{"reindex", copyOf(t, directory)},
					{"reindex", "--repair", copyOf(t, directory)},
					{"convert", directory, "-o", filepath.Join(t.TempDir(), "new")},
				} {
					requireVerb(t, exitFailed, args...)
				}
				return
			}
			require.Contains(t, requireVerb(t, exitOK, "info", directory), "Messages: ")
			require.Contains(t, requireVerb(t, exitOK, "info", "-v", directory), "Messages: ")
			requireVerb(t, exitOK, "info", "-t", directory)
			require.True(t, json.Valid([]byte(requireVerb(t, exitOK, "info", "--json", directory))))
			requireVerb(t, verifyCode(name), "verify", directory)

			for _, flags := range [][]string{nil, {"--repair"}} {
				copied := copyOf(t, directory)
				printed := requireVerb(t, exitOK, append([]string{"reindex", copied}, flags...)...)
				require.Contains(t, printed, "Reindexing complete.")
				require.Equal(t, want, messagesIn(t, copied))
			}
			for _, flags := range [][]string{
				{"-s", "mcap"},
				{"-s", "sqlite3"},
				{"-s", "mcap", "--compression-mode", "file"},
				{"-s", "sqlite3", "--compression-mode", "message"},
				{"-s", "mcap", "--metadata-version", "5"},
			} {
				made := filepath.Join(t.TempDir(), "made")
				requireVerb(t, exitOK, append([]string{"convert", directory, "-o", made}, flags...)...)
				require.Equal(t, want, messagesIn(t, made))
				requireVerb(t, exitOK, "verify", made)
			}
		})
	}
}

// verifyCode is what verify says of a bag as rosbag2 left it.
func verifyCode(name string) int {
	if strings.HasSuffix(name, "_killed") {
		return exitFailed // it has no metadata.yaml
	}
	return exitOK
}

// messagesIn reads a bag.
func messagesIn(t *testing.T, directory string) uint64 {
	t.Helper()
	r, err := bag.Open(directory, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Messages(bag.Query{Query: storage.Query{Order: storage.ByFile}})
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	for n := uint64(0); ; n++ {
		if _, err := it.Next(); err != nil {
			require.Equal(t, r.Metadata().MessageCount, n)
			return n
		}
	}
}

func TestReindexTellsWhatItDid(t *testing.T) {
	directory := copyOf(t, filepath.Join(foreignBags, "mcap_split"))
	path := filepath.Join(directory, "mcap_split_2.mcap")
	stat, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, stat.Size()/2))

	code, stdout, stderr := call("reindex", directory)
	require.Equal(t, exitDataLost, code)
	require.Contains(t, stderr, "mcap_split_2.mcap: ")
	require.Contains(t, stdout, "Beginning reindexing bag in directory: "+directory)

	code, stdout, stderr = call("reindex", directory, "--repair")
	require.Equal(t, exitDataLost, code, stderr)
	require.Contains(t, stdout, "Repaired "+path)
	require.Contains(t, stdout, path+".broken")
	require.Contains(t, stderr, "missing: ")

	code, stdout, stderr = call("reindex", directory, "--repair")
	require.Equal(t, exitOK, code)
	require.Empty(t, stderr)
	require.NotContains(t, stdout, "Repaired")
	require.Less(t, messagesIn(t, directory), uint64(467))
}

func TestReindexRefusesWhatIsNoBag(t *testing.T) {
	empty, text := t.TempDir(), filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"missing":         {[]string{"/nowhere/bag"}, exitUsage, "Bag path '/nowhere/bag' does not exist!"},
		"a file":          {[]string{text}, exitUsage, "Must specify a bag directory"},
		"empty":           {[]string{empty}, exitFailed, "Empty directory."},
		"no bag file":     {[]string{filepath.Dir(text)}, exitFailed, "No storage files found for reindexing. Abort"},
		"unknown storage": {[]string{empty, "-s", "tape"}, exitUsage, "tape"},
		"two bags":        {[]string{empty, empty}, exitUsage, "one bag only"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := call(append([]string{"reindex"}, tc.args...)...)
			require.Equal(t, tc.code, code, stderr)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			require.Contains(t, stderr, tc.want)
		})
	}
}
