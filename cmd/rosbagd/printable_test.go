package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesOfABagDoNotReachTheTerminalAsTheyAre: a bag may come from anybody.
func TestNamesOfABagDoNotReachTheTerminalAsTheyAre(t *testing.T) {
	const escape = "\x1b[2J"
	directory := t.TempDir()
	text := "rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: mcap\n  relative_file_paths: [\"a\\e[2J.mcap\"]\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "metadata.yaml"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "b"+escape+".mcap"), []byte("\x89MCAP0\r\n"), 0o600))
	for _, args := range [][]string{
		{"info", directory},
		{"verify", directory},
		{"convert", directory, "-o", filepath.Join(t.TempDir(), "out")},
		{"reindex", directory, "--repair"},
		{"info", directory},
		{"info", filepath.Join(directory, "c"+escape)},
	} {
		var stdout, stderr bytes.Buffer
		run(args, &stdout, &stderr)
		require.NotContains(t, stdout.String()+stderr.String(), "\x1b", args)
		require.NotEmpty(t, stdout.String()+stderr.String())
	}
}
