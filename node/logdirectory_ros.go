//go:build ros

package node

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// checkLogDirectory says in one sentence that log files have no place to be. rcl says it in ten lines; and where the
// directory is there and another user's, the C++ behind it ends the process.
func checkLogDirectory(rosArgs []string) error {
	if !writesLogFiles(rosArgs) {
		return nil
	}
	directory, err := logDirectory()
	if err == nil {
		err = makeWritable(directory)
	}
	if err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	return nil
}

// writesLogFiles says what the flags for it come to; the last one counts.
func writesLogFiles(rosArgs []string) bool {
	writes := true
	for _, argument := range rosArgs {
		switch argument {
		case "--enable-external-lib-logs":
			writes = true
		case "--disable-external-lib-logs":
			writes = false
		}
	}
	return writes
}

// logDirectory is where rcl puts the log files.
func logDirectory() (string, error) {
	directory := os.Getenv("ROS_LOG_DIR")
	if directory == "" {
		directory = filepath.Join(cmp.Or(os.Getenv("ROS_HOME"), "~/.ros"), "log")
	}
	if rest, ok := strings.CutPrefix(directory, "~"); ok {
		home := os.Getenv("HOME")
		if home == "" {
			return "", errors.New("there is no directory for log files, set ROS_LOG_DIR, ROS_HOME or HOME")
		}
		directory = home + rest
	}
	return directory, nil
}

func makeWritable(directory string) error {
	err := os.MkdirAll(directory, 0o777)
	if err == nil {
		if err = unix.Faccessat(unix.AT_FDCWD, directory, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
			err = &os.PathError{Op: "write to", Path: directory, Err: err}
		}
	}
	if err != nil {
		return fmt.Errorf("log files have no place: %w; set ROS_LOG_DIR to a directory that can be written", err)
	}
	return nil
}
