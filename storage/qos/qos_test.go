package qos_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"rosbagd/storage/qos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryFormOfOffers(t *testing.T) {
	want := []qos.Profile{{
		History: qos.KeepLast, Depth: 7, Reliability: qos.BestEffort, Durability: qos.TransientLocal, Deadline: 1500 * time.Millisecond,
		Liveliness: qos.ManualByTopic, AvoidROSNamespaceConventions: true,
	}}
	const (
		words = "history: keep_last\ndepth: 7\nreliability: best_effort\ndurability: transient_local\ndeadline: {sec: 1, nsec: 500000000}\n" +
			"liveliness: manual_by_topic\navoid_ros_namespace_conventions: true\n"
		flow = "{history: 1, depth: 7, reliability: 2, durability: 1, deadline: {sec: 1, nsec: 500000000}, liveliness: 3, avoid_ros_namespace_conventions: true}"
	)
	tests := map[string]struct {
		text string
		want []qos.Profile
	}{
		"map with words":       {words, want},
		"map with numbers":     {flow, want},
		"list with numbers":    {"[" + flow + "]", want},
		"yaml in a string":     {"\"[" + flow + "]\"", want},
		"two offers":           {"- " + flow + "\n- " + flow, append(append([]qos.Profile{}, want...), want...)},
		"numbers as text":      {`- {history: "1", reliability: '2'}`, []qos.Profile{{History: qos.KeepLast, Reliability: qos.BestEffort}}},
		"unknown":              {"- {history: unknown, reliability: unknown}", []qos.Profile{{History: qos.HistoryUnknown, Reliability: qos.ReliabilityUnknown}}},
		"word from the future": {"- {durability: quantum}", []qos.Profile{{Durability: qos.DurabilityUnknown}}},
		"number of the future": {"- {durability: 99}", []qos.Profile{{Durability: qos.DurabilityUnknown}}},
		"best available":       {"- {durability: 4, reliability: best_available}", []qos.Profile{{Durability: qos.DurabilityBestAvailable, Reliability: qos.ReliabilityBestAvailable}}},
		"huge depth":           {"- {depth: 18446744073709551615}", []qos.Profile{{}}},
		"empty":                {"", nil},
		"empty list":           {"[]", nil},
		"empty string":         {`""`, nil},
		"null":                 {"~", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := qos.DecodeText(test.text)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestEveryInfinity(t *testing.T) {
	tests := map[string]struct {
		text string
		want time.Duration
	}{
		"cyclone and rmw": {"{sec: 9223372036, nsec: 854775807}", qos.Infinite},
		"fast dds":        {"{sec: 2147483647, nsec: 4294967295}", qos.Infinite},
		"connext":         {"{sec: 2147483647, nsec: 2147483647}", qos.Infinite},
		"beyond":          {"{sec: 18446744073709551615, nsec: 18446744073709551615}", qos.Infinite},
		"all in nsec":     {"{sec: 0, nsec: 9223372036854775807}", qos.Infinite},
		"signed":          {"{sec: -1, nsec: -1}", qos.Infinite},
		"larger than any": {"{sec: 99999999999999999999, nsec: 0}", qos.Infinite},
		"unspecified":     {"{sec: 0, nsec: 0}", 0},
		"68 years":        {"{sec: 2147483647, nsec: 0}", 2147483647 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := qos.DecodeText("- deadline: " + test.text)
			require.NoError(t, err)
			require.Equal(t, test.want, got[0].Deadline)
		})
	}
}

func TestMalformedOffers(t *testing.T) {
	for _, text := range []string{"just words", "- 7", "- {deadline: 7}", "- {deadline: {sec: soon, nsec: 0}}", "[", `"[\"[]\"]"`} {
		_, err := qos.DecodeText(text)
		require.Error(t, err, text)
	}
}

func profiles(r *rapid.T) []qos.Profile {
	duration := rapid.Map(rapid.Int64Range(0, 1<<62), func(n int64) time.Duration { return time.Duration(n) })
	list := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) qos.Profile {
		return qos.Profile{
			History: qos.History(rapid.IntRange(0, 3).Draw(r, "history")), Depth: rapid.IntRange(0, 1<<31-1).Draw(r, "depth"),
			Reliability: qos.Reliability(rapid.IntRange(0, 4).Draw(r, "reliability")),
			Durability:  qos.Durability(rapid.IntRange(0, 4).Draw(r, "durability")),
			Liveliness:  qos.Liveliness(rapid.IntRange(0, 5).Draw(r, "liveliness")),
			Deadline:    duration.Draw(r, "deadline"), Lifespan: qos.Infinite, LivelinessLeaseDuration: duration.Draw(r, "lease"),
			AvoidROSNamespaceConventions: rapid.Bool().Draw(r, "avoid"),
		}
	}), 0, 3).Draw(r, "profiles")
	if len(list) == 0 {
		return nil
	}
	return list
}

func TestRoundTripInAllVersions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := profiles(r)
		version := rapid.IntRange(4, 9).Draw(r, "version")
		got, err := qos.DecodeText(qos.EncodeText(want, version))
		require.NoError(r, err)
		require.Equal(r, want, got)
		data, err := yaml.Marshal(qos.Encode(want, version))
		require.NoError(r, err)
		var node yaml.Node
		require.NoError(r, yaml.Unmarshal(data, &node))
		require.Equal(r, version < 9, node.Content[0].Kind == yaml.ScalarNode)
		got, err = qos.Decode(&node)
		require.NoError(r, err)
		require.Equal(r, want, got)
	})
}

func TestOverrides(t *testing.T) {
	overrides, err := qos.ParseOverrides("o.yaml", []byte(`
/scan:
  reliability: best_effort
  depth: 5
/map:
  history: keep_all
  durability: transient_local
  deadline: {sec: 1, nsec: 2}
  avoid_ros_namespace_conventions: true
`))
	require.NoError(t, err)
	require.Len(t, overrides, 2)
	want := qos.Default()
	want.Reliability, want.Depth = qos.BestEffort, 5
	require.Equal(t, want, overrides["/scan"].Apply(qos.Default()))
	want = qos.Default()
	want.History, want.Durability, want.Deadline = qos.KeepAll, qos.TransientLocal, time.Second+2
	want.AvoidROSNamespaceConventions = true
	require.Equal(t, want, overrides["/map"].Apply(qos.Default()))
	for _, empty := range []string{"", "# nothing\n", "{}"} {
		overrides, err := qos.ParseOverrides("o.yaml", []byte(empty))
		require.NoError(t, err)
		require.Empty(t, overrides)
	}
}

func TestOverrideFaultsSayWhere(t *testing.T) {
	tests := map[string]struct {
		text string
		is   error
		want string
	}{
		"unknown key":       {"/a:\n  depth: 1\n  color: red\n", qos.ErrOverrideKey, "o.yaml:3: topic /a: key color: "},
		"unknown word":      {"/a:\n  history: keep_some\n", qos.ErrOverrideValue, `o.yaml:2: topic /a: key history: unexpected value "keep_some"`},
		"upper case":        {"/a:\n  reliability: RELIABLE\n  depth: 1\n", qos.ErrOverrideValue, "o.yaml:2"},
		"half a duration":   {"/a:\n  depth: 1\n  lifespan: {sec: 1}\n", qos.ErrOverrideDuration, "o.yaml:3: topic /a: key lifespan: "},
		"no duration":       {"/a:\n  depth: 1\n  lifespan: 1\n", qos.ErrOverrideDuration, "o.yaml:3"},
		"negative duration": {"/a:\n  depth: 1\n  lifespan: {sec: -1, nsec: 0}\n", qos.ErrOverrideNegative, "o.yaml:3"},
		"negative depth":    {"/a:\n  depth: -1\n", qos.ErrOverrideNegative, "key depth: may not be a negative value"},
		"keep_last alone":   {"/a:\n  history: keep_last\n", qos.ErrOverrideHistory, "o.yaml:2: topic /a"},
		"neither":           {"/a:\n  reliability: reliable\n", qos.ErrOverrideHistory, "o.yaml:2"},
		"no slash":          {"a:\n  depth: 1\n", qos.ErrOverrideTopic, "o.yaml:1: topic a: "},
		"topic twice":       {"/a: {depth: 1}\n/a: {depth: 2}\n", qos.ErrOverrideTopic, "o.yaml:2"},
		"list":              {"- /a\n", qos.ErrOverrideTopic, "o.yaml:1"},
		"no yaml":           {"/a:\n  depth: [1\n/b: 1\n", nil, "o.yaml:"},
		"bool word":         {"/a:\n  depth: 1\n  avoid_ros_namespace_conventions: maybe\n", qos.ErrOverrideValue, "o.yaml:3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := qos.ParseOverrides("o.yaml", []byte(test.text))
			var fault *qos.OverrideError
			require.ErrorAs(t, err, &fault)
			require.ErrorContains(t, err, test.want)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func FuzzOffers(f *testing.F) {
	f.Add("- history: 1\n  depth: 7\n  deadline: {sec: 1, nsec: 2}\n")
	f.Add(`"- history: keep_last"`)
	f.Add("&a [*a]")
	f.Add("- {deadline: {sec: 2147483647, nsec: 4294967295}, lifespan: {sec: -1, nsec: 0}, depth: 18446744073709551615}")
	f.Add(`"- history: 3\n  liveliness: 5\n  avoid_ros_namespace_conventions: true"`)
	f.Add(strings.Repeat("[", 2000))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := qos.DecodeText(text)
		if err != nil {
			return
		}
		again, err := qos.DecodeText(qos.EncodeText(got, 9))
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

func FuzzOverrides(f *testing.F) {
	f.Add([]byte("/a:\n  history: keep_last\n  depth: 1\n  deadline: {sec: 1, nsec: 2}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		overrides, err := qos.ParseOverrides("o.yaml", data)
		if err != nil {
			var fault *qos.OverrideError
			require.ErrorAs(t, err, &fault)
			return
		}
		for topic := range overrides {
			require.Equal(t, byte('/'), topic[0])
		}
	})
}

// PyYAML writes what is the same twice as an anchor and aliases.
func TestAliasesStandForWhatTheyName(t *testing.T) {
	profiles, err := qos.DecodeText(`
- &one {history: keep_last, depth: 3, deadline: &long {sec: 2, nsec: &nothing 0}, lifespan: *long}
- *one
`)
	require.NoError(t, err)
	require.Len(t, profiles, 2)
	require.Equal(t, profiles[0], profiles[1])
	require.Equal(t, 2*time.Second, profiles[0].Lifespan)

	overrides, err := qos.ParseOverrides("f.yaml", []byte("/a: &a {depth: &d 4, deadline: {sec: *d, nsec: 0}}\n/b: *a\n"))
	require.NoError(t, err)
	require.Equal(t, overrides["/a"], overrides["/b"])
	require.Equal(t, 4*time.Second, *overrides["/b"].Deadline)
}
