//go:build ros

package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogDirectory(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, c := range map[string]struct {
		logDir, rosHome, home string
		want, failure         string
	}{
		"first":          {logDir: filepath.Join(home, "a", "b"), rosHome: "/proc/c", home: "/proc/d", want: filepath.Join(home, "a", "b")},
		"second":         {rosHome: filepath.Join(home, "c"), home: "/proc/d", want: filepath.Join(home, "c", "log")},
		"third":          {home: home, want: filepath.Join(home, ".ros", "log")},
		"of the user":    {logDir: "~/mine", home: home, want: filepath.Join(home, "mine")},
		"none":           {failure: "set ROS_LOG_DIR, ROS_HOME or HOME"},
		"a file":         {logDir: file, failure: file + ": not a directory; set ROS_LOG_DIR"},
		"below a file":   {logDir: filepath.Join(file, "x"), failure: "not a directory; set ROS_LOG_DIR"},
		"no file system": {logDir: "/proc/nowhere", failure: "/proc/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ROS_LOG_DIR", c.logDir)
			t.Setenv("ROS_HOME", c.rosHome)
			t.Setenv("HOME", c.home)
			err := checkLogDirectory(nil)
			if c.failure != "" {
				require.ErrorContains(t, err, c.failure)
				require.NoError(t, checkLogDirectory([]string{"--disable-external-lib-logs"}), "no files are written")
				return
			}
			require.NoError(t, err)
			require.DirExists(t, c.want)
		})
	}
}
