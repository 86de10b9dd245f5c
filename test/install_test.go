//go:build ros

package test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed is what peers/find_installed.py says.
type installed struct {
	Prefix      string   `json:"prefix"`
	Share       string   `json:"share"`
	Executables []string `json:"executables"`
	Needs       []string `json:"needs"`
	Package     bool     `json:"package"`
}

// install carries out what `make install` and `make uninstall` do after the build.
func (w *world) install(t *testing.T, script, prefix string, environ ...string) {
	t.Helper()
	cmd := exec.Command("bash", filepath.Join("..", "scripts", script), prefix)
	cmd.Env = append(append(w.environ, "PYTHON="+python()), environ...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s:\n%s", script, output)
}

// sourced starts a program in a shell that has sourced a prefix, and nothing else.
func (w *world) sourced(t *testing.T, prefix string, call ...string) *process {
	t.Helper()
	const script = `unset AMENT_PREFIX_PATH; source "$1/local_setup.bash" && shift && exec "$@"`
	return w.launch(t, noInput, "bash", append([]string{"-c", script, "sourced", prefix}, call...)...)
}

// A prefix is used as it was installed, twice over itself, moved, and with a space in its path.
func TestInstalledPrefix(t *testing.T) {
	w := newWorld(t)
	first, moved := w.path("first place", "prefix"), w.path("second place")
	w.install(t, "install.sh", first)
	content := contentOf(t, first)
	w.install(t, "install.sh", first)
	require.Equal(t, content, contentOf(t, first), "installing again changes nothing")
	w.useInstalled(t, first)
	require.NoError(t, os.Rename(first, moved))
	w.useInstalled(t, moved)
	require.NoError(t, os.WriteFile(filepath.Join(moved, "lib", "theirs"), nil, 0o600))
	w.install(t, "uninstall.sh", moved)
	require.Equal(t, []string{"lib/theirs"}, paths(contentOf(t, moved)), "what others have there stays")
}

func TestInstallIntoAStage(t *testing.T) {
	w := newWorld(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	relative, err := filepath.Rel(root, w.path("opt", "relative"))
	require.NoError(t, err)
	for i, prefix := range []string{w.path("opt", "rosbagd"), relative, "/"} {
		destination := w.path(fmt.Sprint("stage", i))
		absolute := prefix
		if prefix == relative {
			absolute = w.path("opt", "relative")
		}
		w.install(t, "install.sh", prefix, "DESTDIR="+destination)
		require.NoDirExists(t, w.path("opt"))
		stage := filepath.Join(destination, absolute)
		require.FileExists(t, filepath.Join(stage, "lib", "rosbagd", "recorder"))
		require.FileExists(t, filepath.Join(stage, "local_setup.bash"))
		list, err := os.ReadFile(filepath.Join(stage, "share", "rosbagd", "installed.txt"))
		require.NoError(t, err)
		require.NotRegexp(t, "(?m)^/", string(list), "the list is of the prefix, wherever that is")
		w.install(t, "uninstall.sh", prefix, "DESTDIR="+destination)
		require.NoDirExists(t, stage)
	}
	w.install(t, "install.sh", relative)
	w.install(t, "uninstall.sh", relative)
	require.NoDirExists(t, w.path("opt", "relative"))
}

// useInstalled finds the package the way ros2 run and ros2 launch do, and records and plays with what it finds.
func (w *world) useInstalled(t *testing.T, prefix string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("peers", "find_installed.py"))
	require.NoError(t, err)
	finding := w.sourced(t, prefix, python(), script)
	finding.requireExit(t, 0, startDeadline)
	var found installed
	lastJSON(t, finding, &found)
	player, recorder := filepath.Join(prefix, "lib", "rosbagd", "player"), filepath.Join(prefix, "lib", "rosbagd", "recorder")
	require.Equal(t, prefix, found.Prefix)
	require.Equal(t, filepath.Join(prefix, "share", "rosbagd"), found.Share)
	require.Equal(t, []string{player, recorder}, found.Executables)
	require.Contains(t, found.Needs, "rosbag2_interfaces")
	require.True(t, found.Package)

	help := w.sourced(t, prefix, recorder, "--help")
	help.requireExit(t, 0, startDeadline)
	require.Contains(t, help.text(stdout), "rosbagd recorder [topics...]")
	wrong := w.sourced(t, prefix, player, "--speed", "2")
	wrong.requireExit(t, 2, startDeadline)
	require.Contains(t, wrong.text(stderr), "rosbagd player: unknown flag: --speed (see 'rosbagd player --help')")

	bag := w.path("bag of " + filepath.Base(prefix))
	recording := w.sourced(t, prefix, recorder, "-o", bag, "--topics", "/load/t0", "--ros-args", "-r", "__node:=robot_recorder")
	recording.waitLine(t, `\[robot_recorder\]: Recording\.\.\.`, startDeadline)
	publisher := w.load(t, "pub", "--topics", "1", "--count", "100")
	publisher.requireExit(t, 0, startDeadline)
	recording.stop(t, 0)
	info := w.sourced(t, prefix, "rosbagd", "info", bag)
	info.requireExit(t, 0, startDeadline)
	require.Contains(t, info.text(stdout), "Topic: /load/t0 | Type: std_msgs/msg/String | Count: 100 ")
	playing := w.sourced(t, prefix, player, bag, "--ros-args", "-r", "__ns:=/robot1")
	playing.waitLine(t, `\[robot1\.player\]: Playback is over messages=100`, startDeadline)
	playing.stop(t, 0)
}

// contentOf lists the files of a directory with a digest of each, or where a link leads.
func contentOf(t *testing.T, directory string) map[string]string {
	t.Helper()
	content := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, directory+"/")
		if entry.Type()&fs.ModeSymlink != 0 {
			content[name], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		sum := sha256.Sum256(text)
		content[name] = hex.EncodeToString(sum[:])
		return err
	}))
	return content
}

func paths(content map[string]string) []string {
	return slices.Sorted(maps.Keys(content))
}
