//go:build ros

package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/node/param"
)

func parameterText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestOverridesOfAllTypes(t *testing.T) {
	file := parameterText(t, "types.yaml", `
/**:
  ros__parameters:
    on: true
    count: -9223372036854775808
    rate: 2.0
    far: .inf
    name: "1"
    nested: {deeper: {x: 1}}
    bools: [true, false]
    integers: [1, 2]
    doubles: [1.0, 2.5]
    strings: ["a", "b c"]
    empty: []
`)
	got, err := ParameterOverrides(Options{Name: "player", ROSArgs: []string{"--params-file", file, "-p", "text:=hello"}})
	require.NoError(t, err)
	want := map[string]string{
		"on": "true", "count": "-9223372036854775808", "rate": "2.0", "far": ".inf", "name": `"1"`, "nested.deeper.x": "1",
		"bools": "[true, false]", "integers": "[1, 2]", "doubles": "[1.0, 2.5]", "strings": `["a", "b c"]`, "empty": "not set",
	}
	require.Len(t, got, len(want)+1)
	for name, text := range want {
		require.Equal(t, text, got[name].Value.String(), name)
		require.Equal(t, "file "+file, got[name].Source, name)
	}
	require.Equal(t, param.Override{Value: param.Of("hello"), Source: "-p"}, got["text"])
}

// The order is rclcpp's: that in which the patterns come up, and among equal ones the last value.
func TestOverridesTakeTheLastOfThoseThatMatch(t *testing.T) {
	first := parameterText(t, "first.yaml", `
/**:           {ros__parameters: {a: 1, b: 1, c: 1, d: 1, g: 1}}
/*:            {ros__parameters: {a: 2}}
/robot/*:      {ros__parameters: {b: 3}}
player:        {ros__parameters: {c: 4}}
/robot/player: {ros__parameters: {d: 5}}
/other:        {ros__parameters: {a: 6, b: 6, c: 6, d: 6}}
`)
	second := parameterText(t, "second.yaml", `
/robot/player: {ros__parameters: {e: 7}}
/**:           {ros__parameters: {d: 8, e: 8, f: 8}}
`)
	args := []string{"--params-file", first, "--params-file", second, "-r", "__ns:=/robot", "-p", "f:=9", "-p", "recorder:f:=10", "-p", "g:=9"}
	got, err := ParameterOverrides(Options{Name: "player", ROSArgs: args})
	require.NoError(t, err)
	fromFirst, fromSecond := "file "+first, "file "+second
	require.Equal(t, param.Overrides{
		"a": {Value: param.Of(int64(1)), Source: fromFirst},
		"b": {Value: param.Of(int64(3)), Source: fromFirst},
		"c": {Value: param.Of(int64(1)), Source: fromFirst},
		"d": {Value: param.Of(int64(5)), Source: fromFirst},
		"e": {Value: param.Of(int64(7)), Source: fromSecond},
		"f": {Value: param.Of(int64(9)), Source: "-p"},
		"g": {Value: param.Of(int64(9)), Source: "-p"},
	}, got)

	got, err = ParameterOverrides(Options{Name: "x", ROSArgs: append(args[:4:4], "-r", "__node:=player")})
	require.NoError(t, err)
	require.Equal(t, param.Override{Value: param.Of(int64(2)), Source: fromFirst}, got["a"])
	require.Equal(t, param.Override{Value: param.Of(int64(4)), Source: fromFirst}, got["c"])

	got, err = ParameterOverrides(Options{Name: "player", Namespace: "robot", ROSArgs: []string{"-p", "robot/player:x:=1"}})
	require.ErrorContains(t, err, "-p robot/player:x:=1: must be NAME:=VALUE or NODE:NAME:=VALUE")
	require.Nil(t, got)
}

func TestBadParameterArgumentsAreOneLine(t *testing.T) {
	directory := t.TempDir()
	file := func(text string) string { return parameterText(t, "p.yaml", text) }
	missing := filepath.Join(directory, "nowhere.yaml")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"not there":     {[]string{"--params-file", missing}, "--params-file: open " + missing + ": no such file"},
		"a directory":   {[]string{"--params-file", directory}, "is a directory"},
		"no YAML":       {[]string{"--params-file", file("a: b: c\n - x\n")}, "p.yaml: "},
		"no parameters": {[]string{"--params-file", file("/**:\n  play.rate: 2.0\n")}, "ros__parameters at line 2"},
		"mixed list":    {[]string{"--params-file", file("/**:\n  ros__parameters:\n    a: [1, x]\n")}, "same type"},
		"bad pattern":   {[]string{"--params-file", file("/pl*:\n  ros__parameters: {a: 1}\n")}, "node name"},
		"no value":      {[]string{"-p", "rate"}, "-p rate: must be NAME:=VALUE"},
		"a map":         {[]string{"-p", "rate:={a: 1}"}, "-p rate:={a: 1}: must be NAME:=VALUE"},
		"no file":       {[]string{"--params-file"}, "No file path provided"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{
				func() error { _, err := ParameterOverrides(Options{Name: "x", ROSArgs: tc.args}); return err }(),
				func() error { _, err := Open(Options{Name: "x", ROSArgs: tc.args}); return err }(),
			} {
				var argument *ArgumentError
				require.ErrorAs(t, err, &argument)
				require.Contains(t, err.Error(), tc.want)
				require.NotContains(t, err.Error(), "\n")
				require.NotContains(t, err.Error(), ".c:")
			}
		})
	}
}

func TestPlacesInSourcesAreCutOff(t *testing.T) {
	for text, want := range map[string]string{
		"it failed, at /project/src/rcl/arguments.c:415": "it failed",
		"aliasing at line 5\n, at ./src/parse.c:893":     "aliasing at line 5",
		"look at /tmp/x": "look at /tmp/x",
		"nothing":        "nothing",
	} {
		require.Equal(t, want, cleanRCLError(text))
	}
}
