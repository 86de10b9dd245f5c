package param

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNodePatterns(t *testing.T) {
	for pattern, nodes := range map[string]struct{ is, not []string }{
		"/**":           {[]string{"/player", "/a/b/player"}, nil},
		"/*":            {[]string{"/player"}, []string{"/a/player"}},
		"player":        {[]string{"/player"}, []string{"/a/player", "/player2"}},
		"/player":       {[]string{"/player"}, []string{"/a/player"}},
		"a/player":      {[]string{"/a/player"}, []string{"/player"}},
		"/a/*":          {[]string{"/a/player"}, []string{"/a", "/a/b/player", "/b/player"}},
		"/*/player":     {[]string{"/a/player"}, []string{"/player", "/a/b/player"}},
		"/**/player":    {[]string{"/player", "/a/b/player"}, []string{"/player/a"}},
		"/a/**/b/*":     {[]string{"/a/b/c", "/a/b/b/b/c"}, []string{"/a/b", "/b/c"}},
		"/**/**":        {[]string{"/player", "/a/b/player"}, nil},
		"/a/**/player/": {nil, []string{"/a/player"}},
	} {
		for _, node := range nodes.is {
			require.True(t, Matches(pattern, node), "%s is %s", pattern, node)
		}
		for _, node := range nodes.not {
			require.False(t, Matches(pattern, node), "%s is not %s", pattern, node)
		}
	}
}

// The same by regular expression, which is how rclcpp has it: each /* is a part, and the star behind it repeats that.
func TestNodePatternsAreThoseOfRclcpp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "**"}), 1, 6).Draw(t, "pattern"), "/")
		node := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 1, 6).Draw(t, "node"), "/")
		expression := "^" + strings.ReplaceAll(pattern, "/*", `(/\w+)`) + "$"
		require.Equal(t, regexp.MustCompile(expression).MatchString(node), Matches(pattern, node))
	})
}

func TestLaterSectionsWin(t *testing.T) {
	overrides := Overrides{}
	overrides.Add("/player", "file a", []Section{
		{"/**", []Parameter{{"rate", Of(1.0)}, {"loop", Of(true)}}},
		{"player", []Parameter{{"rate", Of(2.0)}}},
		{"/other", []Parameter{{"rate", Of(3.0)}, {"delay", Of(3.0)}}},
	})
	overrides.Add("/player", "file b", []Section{{"/*", []Parameter{{"loop", Of(false)}}}})
	require.Equal(t, Overrides{
		"rate": {Value: Of(2.0), Source: "file a"},
		"loop": {Value: Of(false), Source: "file b"},
	}, overrides)
}

func TestValuesAreAttributedToWhereTheyAre(t *testing.T) {
	overrides := Overrides{"rate": {Of(2.0), "-p"}, "loop": {Of(true), "-p"}, "delay": {Of(1.0), "-p"}}
	overrides.Attribute("/player", "file a", []Section{
		{"/other", []Parameter{{"delay", Of(1.0)}}},
		{"/player", []Parameter{{"rate", Of(2.0)}, {"loop", Of(false)}}},
		{"/**", []Parameter{{"rate", Of(1.0)}, {"nosuch", Of(1.0)}}},
	})
	require.Equal(t, Overrides{"rate": {Of(2.0), "file a"}, "loop": {Of(true), "-p"}, "delay": {Of(1.0), "-p"}}, overrides)
}
