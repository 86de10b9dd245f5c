package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	for typ, want := range map[string]string{
		"storage": "mcap\nsqlite3\n", "converter": "cdr_converter\n", "compressor": "zstd\n", "decompressor": "zstd\n",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run([]string{"list", typ}, &stdout, &stderr), stderr.String())
		require.Equal(t, want, stdout.String())

		stdout.Reset()
		require.Equal(t, exitOK, run([]string{"list", typ, "-v"}, &stdout, &stderr))
		lines := strings.Split(stdout.String(), "\n")
		require.Equal(t, "available "+typ+" plugins are:", lines[0])
		require.Equal(t, "name: "+strings.SplitN(want, "\n", 2)[0], lines[1])
		require.Regexp(t, `^\t\w`, lines[2])
		require.Regexp(t, `^\ttype: rosbagd/\S+$`, lines[3])
		require.Regexp(t, `^\tbase_class: \S+$`, lines[4])
		require.Equal(t, 4*strings.Count(want, "\n")+2, len(lines))
		require.Empty(t, stderr.String())
	}
}

func TestListOfNothing(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"list", "tapes"}, {"list", "storage", "converter"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, run(args, &stdout, &stderr))
		require.Contains(t, stderr.String(), "one of storage, converter, compressor, decompressor")
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
		require.Empty(t, stdout.String())
	}
}
