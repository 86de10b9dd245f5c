package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/node/param"
)

// parsedPlay is a call of play with these arguments, up to where parameters come in.
func parsedPlay(t require.TestingT, args ...string) (*playCall, *pflag.FlagSet) {
	call := &playCall{}
	cmd := &cobra.Command{}
	call.register(cmd, "rosbag2_player", nil)
	require.NoError(t, cmd.ParseFlags(args))
	return call, cmd.Flags()
}

func from(source string, values map[string]param.Value) param.Overrides {
	overrides := param.Overrides{}
	for name, value := range values {
		overrides[name] = param.Override{Value: value, Source: source}
	}
	return overrides
}

func TestFlagsWinOverParametersAndThoseOverDefaults(t *testing.T) {
	call, flags := parsedPlay(t, "--rate", "1e-9", "--topics", "/a", "--delay", "1.5")
	call.bag = "here"
	store := param.NewStore(from("file x", map[string]param.Value{
		"play.rate": param.Of(2.0), "play.topics_to_filter": param.Of([]string{"/b"}), "storage.uri": param.Of("there"),
		"play.delay.sec": param.Of(int64(9)), "play.loop": param.Of(true), "play.message_order": param.Of("SENT_TIMESTAMP"),
		"play.playback_until_timestamp.sec": param.Of(int64(100)),
	}))
	require.NoError(t, call.settings().declare(store, flags))
	require.Empty(t, store.Unused())
	require.Equal(t, []any{1e-9, []string{"/a"}, "here", 1.5, true, "sent", int64(100e9), -1.0, "start"},
		[]any{call.rate, call.topics, call.bag, call.delay, call.loop, call.order, call.untilNsec, call.duration, call.latched})
	for name, want := range map[string]param.Value{
		"play.rate": param.Of(1e-9), "play.topics_to_filter": param.Of([]string{"/a"}), "storage.uri": param.Of("here"),
		"play.delay.sec": param.Of(int64(1)), "play.delay.nsec": param.Of(int64(5e8)), "play.loop": param.Of(true),
		"play.message_order": param.Of("SENT_TIMESTAMP"), "play.playback_duration.sec": param.Of(int64(-1)),
		"play.playback_until_timestamp.nsec": param.Of(int64(0)), "play.start_paused": param.Of(false),
	} {
		value, ok := store.Get(name)
		require.True(t, ok, name)
		require.Equal(t, want, value, name)
	}
}

func TestParametersOfTheWrongKindAreRefusedByName(t *testing.T) {
	for want, values := range map[string]map[string]param.Value{
		"parameter play.loop (-p): wrong type: 1 is of type integer, it must be of type bool": {"play.loop": param.Of(int64(1))},
		"parameter play.delay.nsec (-p): value is out of range: 1000000000, it must be from -999999999 to 999999999": {
			"play.delay.nsec": param.Of(int64(1e9)),
		},
		"parameter play.exclude_regex_to_filter (-p): parse exclude expression": {"play.exclude_regex_to_filter": param.Of("(")},
	} {
		call, flags := parsedPlay(t)
		err := call.settings().declare(param.NewStore(from("-p", values)), flags)
		require.ErrorContains(t, err, want)
		var usage *usageError
		require.ErrorAs(t, err, &usage)
	}
}

// A flag may hold what no duration can: that is refused later, and changed by nothing before.
func TestSettingsLeaveFlagsAlone(t *testing.T) {
	for _, seconds := range []string{"nan", "inf", "-inf", "1e300", "-5"} {
		call, flags := parsedPlay(t, "--playback-duration", seconds, "--start-offset", seconds, "--playback-until-sec", seconds)
		duration, offset, until := call.duration, call.startOffset, call.untilSec
		require.NoError(t, call.settings().declare(param.NewStore(nil), flags))
		require.Equal(t, fmt.Sprint(duration, offset, until), fmt.Sprint(call.duration, call.startOffset, call.untilSec))
	}
}

func TestErrorsAboutFlagsBecomeThoseOfTheirParameters(t *testing.T) {
	call, flags := parsedPlay(t)
	store := param.NewStore(from("file x", map[string]param.Value{
		"play.qos_profile_overrides_path": param.Of("/y"), "play.delay.sec": param.Of(int64(1)),
	}))
	settings := call.settings()
	require.NoError(t, settings.declare(store, flags))
	for said, want := range map[string]string{
		"--qos-profile-overrides-path: open /y": "parameter play.qos_profile_overrides_path (file x): open /y",
		"--delay 1: is too long":                "parameter play.delay.sec (file x): 1: is too long",
		"--delays: no":                          "--delays: no",
		"--delay and --loop: not both":          "--delay and --loop: not both",
		"--rate 0: is not in the range":         "--rate 0: is not in the range",
	} {
		require.EqualError(t, settings.explain(usagef("%s", said), store), want)
	}
	other := fmt.Errorf("--delay 1: is no usage error")
	require.Equal(t, other, settings.explain(other, store))
	require.NoError(t, settings.explain(nil, store))
}

func TestDurationsGoThroughTwoParameters(t *testing.T) {
	for want, parts := range map[time.Duration][2]int64{
		0: {0, 0}, 1500 * time.Millisecond: {1, 5e8}, -1500 * time.Millisecond: {-1, -5e8}, -1: {0, -1},
		-time.Second - 1: {-1, 1}, -2*time.Second - 3: {2, -3},
	} {
		require.Equal(t, want, durationOf(parts[0], parts[1]), "%v", parts)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64Range(-math.MaxInt64+int64(2*time.Second), math.MaxInt64-int64(2*time.Second)).Draw(t, "nanos"))
		first := duration{name: "x", at: at(&want)}
		store := param.NewStore(nil)
		require.NoError(t, settings{first}.declare(store, &pflag.FlagSet{}))
		overrides := param.Overrides{}
		for _, p := range store.All() {
			overrides[p.Name] = param.Override{Value: p.Value}
		}
		var got time.Duration
		second := duration{name: "x", at: at(&got)}
		require.NoError(t, settings{second}.declare(param.NewStore(overrides), &pflag.FlagSet{}))
		require.Equal(t, want, got)
	})
}

// What a node dumps it takes back: the defaults of every parameter are within their own ranges.
func TestDefaultsCanBeLoaded(t *testing.T) {
	play, playFlags := parsedPlay(t)
	record, recordFlags := parsedRecord(t)
	for _, node := range []struct {
		settings settings
		flags    *pflag.FlagSet
	}{{play.settings(), playFlags}, {record.settings(), recordFlags}} {
		store := param.NewStore(nil)
		require.NoError(t, node.settings.declare(store, node.flags))
		overrides := param.Overrides{}
		for _, p := range store.All() {
			overrides[p.Name] = param.Override{Value: p.Value}
			description, _ := store.Describe(p.Name)
			require.NotEmpty(t, description.Description, p.Name)
			for _, flag := range flagsOf(node.settings, p.Name) {
				require.NotNil(t, node.flags.Lookup(flag), "%s has no flag %s", p.Name, flag)
			}
		}
		again := param.NewStore(overrides)
		require.NoError(t, node.settings.declare(again, node.flags))
		require.Equal(t, store.All(), again.All())
	}
}

func flagsOf(settings settings, parameter string) []string {
	for _, one := range settings {
		names, flags := one.parameters()
		for _, name := range names {
			if name == parameter {
				return flags
			}
		}
	}
	return nil
}

// TestEveryFlagHasItsParameter looks after options that come later: whoever adds a flag adds its parameter, or says here
// that rosbag2 has none.
func TestEveryFlagHasItsParameter(t *testing.T) {
	ours := []string{ // flags without a parameter in rosbag2
		"help", "idle", "latched", "log-level", "msg-path", "node-name", "read-ahead-bytes",
		"disable-keyboard-controls", // of a recorder, which reads no keys yet
		"read-ahead-queue-size",     // without effect
		"remap",                     // -r of the node
	}
	play, playFlags := parsedPlay(t)
	record, recordFlags := parsedRecord(t)
	for _, node := range []struct {
		settings settings
		flags    *pflag.FlagSet
	}{{play.settings(), playFlags}, {record.settings(), recordFlags}} {
		covered := ours
		for _, one := range node.settings {
			_, flags := one.parameters()
			covered = append(covered, flags...)
		}
		node.flags.VisitAll(func(flag *pflag.Flag) {
			require.Contains(t, covered, flag.Name, "a flag without its parameter")
		})
	}
}
