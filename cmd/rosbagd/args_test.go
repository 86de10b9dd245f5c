package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitROSArgs(t *testing.T) {
	for name, tc := range map[string]struct{ in, rest, ros []string }{
		"none":         {[]string{"play", "x"}, []string{"play", "x"}, nil},
		"to the end":   {[]string{"play", "x", "--ros-args", "-r", "__ns:=/a"}, []string{"play", "x"}, []string{"-r", "__ns:=/a"}},
		"closed":       {[]string{"play", "--ros-args", "-r", "a:=b", "--", "x"}, []string{"play", "x"}, []string{"-r", "a:=b"}},
		"twice":        {[]string{"--ros-args", "-p", "a:=1", "--", "play", "--ros-args", "-r", "b:=c"}, []string{"play"}, []string{"-p", "a:=1", "-r", "b:=c"}},
		"other dashes": {[]string{"record", "--", "x"}, []string{"record", "--", "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rest, ros := splitROSArgs(tc.in)
			require.Equal(t, tc.rest, rest)
			require.Equal(t, tc.ros, ros)
		})
	}
}

func TestExpandArgs(t *testing.T) {
	for name, tc := range map[string]struct{ in, want []string }{
		"list":                {[]string{"record", "--topics", "/a", "/b", "-o", "x"}, []string{"record", "--topics", "/a", "--topics", "/b", "-o", "x"}},
		"list at the end":     {[]string{"play", "x", "-m", "a:=b", "c:=d"}, []string{"play", "x", "-m", "a:=b", "-m", "c:=d"}},
		"list without words":  {[]string{"record", "--topics", "-o", "x"}, []string{"record", "--topics", "-o", "x"}},
		"topics of the clock": {[]string{"play", "x", "--clock-topics", "/a", "/b"}, []string{"play", "x", "--clock-topics", "/a", "--clock-topics", "/b"}},
		"clock with value":    {[]string{"play", "x", "--clock", "100"}, []string{"play", "x", "--clock=100"}},
		"clock without":       {[]string{"play", "--clock", "x"}, []string{"play", "--clock", "x"}},
		"clock last":          {[]string{"play", "x", "--clock"}, []string{"play", "x", "--clock"}},
		"after the dashes":    {[]string{"record", "--", "--topics", "/a", "/b"}, []string{"record", "--", "--topics", "/a", "/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, expandArgs(tc.in))
		})
	}
}

func TestTheNameOfTheProgramIsAVerb(t *testing.T) {
	for call, want := range map[string]string{
		"rosbagd record -a":                           "record -a",
		"/opt/x y/lib/rosbagd/player run1 --ros-args": "player run1 --ros-args",
		"recorder -a":                                 "recorder -a",
		"./recorder.old recorder -a":                  "recorder -a",
		"player":                                      "player",
		"":                                            "",
	} {
		words := strings.Fields(strings.ReplaceAll(call, "x y", "x-y"))
		require.Equal(t, strings.Fields(want), append([]string{}, withVerb(words)...), call)
	}
}
