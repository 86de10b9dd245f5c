//go:build !ros

package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerbsThatNeedROSSaySo(t *testing.T) {
	for _, args := range [][]string{
		{"record", "-a", "-o", "never"}, {"recorder", "-a", "-o", "never"}, {"play", rosbag2Bag}, {"player", rosbag2Bag},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, run(args, &stdout, &stderr), args)
		require.Contains(t, stderr.String(), "make build")
		require.NoDirExists(t, "never")
	}
}
