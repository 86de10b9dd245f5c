package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rosbagd/clock"
	"rosbagd/player"
	"rosbagd/storage"
)

// playCall is one call of play or player: its flags as they were given, and what was made of them.
type playCall struct {
	bag           string
	storageID     string
	rate          float64
	clockHz       float64
	clockTopics   []string
	clockAll      bool
	clockOnTopics bool // one of the two
	startPaused   bool
	loop          bool
	topics        []string
	excludeTopics []string
	regex         string
	excludeRegex  string
	startOffset   float64
	delay         float64
	duration      float64
	untilSec      float64
	untilNsec     int64
	readAhead     int64
	queueMessages int64
	overridesPath string
	remap         []string
	order         string
	latched       string
	noKeyboard    bool
	msgPath       []string

	node nodeFlags

	idle    bool // player only: wait for ~/play
	options player.Options
}

func newPlayCommand(rosArgs []string) *cobra.Command {
	call := &playCall{}
	cmd := &cobra.Command{
		Use:   "play BAG",
		Short: "Play a bag (a directory or a single file) to its end" + needsROS,
		Example: `  rosbagd play run1 -r 2 --clock           twice as fast, with /clock
  rosbagd play run1 --start-paused         then call /rosbag2_player/resume, or press space`,
		Args: oneBagAtMost,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := call.check(cmd, args); err != nil {
				return err
			}
			return runPlay(cmd.Context(), call, cmd.ErrOrStderr())
		},
	}
	call.register(cmd, "rosbag2_player", rosArgs)
	return cmd
}

func newPlayerCommand(rosArgs []string) *cobra.Command {
	call := &playCall{}
	cmd := &cobra.Command{
		Use:   "player BAG",
		Short: "Be the node /player: play a bag again and again by service, for as long as it runs" + needsROS,
		Long: `Be the node /player. It begins to play at once, or with --idle when ~/play asks for it. At the end of the bag it
waits for the next ~/play.`,
		Example: `  rosbagd player run1 --idle               wait for ~/play
  rosbagd player --ros-args -p storage.uri:=run1 -p play.rate:=2.0 -r __ns:=/robot1`,
		Args: oneBagAtMost,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := call.check(cmd, args); err != nil {
				return err
			}
			call.options.Mode = player.PlayThenServe
			if call.idle {
				call.options.Mode = player.Serve
			}
			return runPlay(cmd.Context(), call, cmd.ErrOrStderr())
		},
	}
	call.register(cmd, "player", rosArgs)
	cmd.Flags().BoolVar(&call.idle, "idle", false, "play nothing until ~/play asks for it")
	return cmd
}

func (c *playCall) register(cmd *cobra.Command, nodeName string, rosArgs []string) {
	flags := cmd.Flags()
	flags.StringVarP(&c.storageID, "storage", "s", "", "storage of the bag (default: found by its content)")
	flags.Float64VarP(&c.rate, "rate", "r", 1, "speed, a ratio to real time")
	flags.Float64Var(&c.clockHz, "clock", 0, "publish /clock at a frequency of `HZ`; 40 without a value")
	flags.Lookup("clock").NoOptDefVal = "40"
	flags.StringArrayVar(&c.clockTopics, "clock-topics", nil, "publish /clock just before each message of `TOPIC...`")
	flags.BoolVar(&c.clockAll, "clock-topics-all", false, "publish /clock just before each message")
	flags.BoolVarP(&c.startPaused, "start-paused", "p", false, "begin paused")
	flags.BoolVarP(&c.loop, "loop", "l", false, "begin again at the end")
	flags.StringArrayVar(&c.topics, "topics", nil, "play only `TOPIC...`; give the bag before it")
	flags.StringArrayVar(&c.excludeTopics, "exclude-topics", nil, "do not play `TOPIC...`")
	flags.StringVarP(&c.regex, "regex", "e", "", "play the topics whose whole name matches this ECMAScript expression")
	flags.StringVarP(&c.excludeRegex, "exclude-regex", "x", "", "do not play the topics whose whole name matches this expression")
	flags.Float64Var(&c.startOffset, "start-offset", 0, "seconds from the start of the bag where playing begins")
	flags.Float64VarP(&c.delay, "delay", "d", 0, "seconds to wait before playing")
	flags.Float64Var(&c.duration, "playback-duration", -1, "seconds of bag time to play; negative is no limit")
	flags.Float64Var(&c.untilSec, "playback-until-sec", -1, "last time to play, in seconds since the epoch; negative is no limit")
	flags.Int64Var(&c.untilNsec, "playback-until-nsec", -1, "last time to play, in nanoseconds since the epoch; negative is no limit")
	flags.Int64Var(&c.readAhead, "read-ahead-bytes", player.DefaultReadAhead, "bytes of messages that are read ahead")
	flags.Int64Var(&c.queueMessages, "read-ahead-queue-size", 0, "for scripts of rosbag2: messages are read ahead by bytes, see --read-ahead-bytes")
	flags.StringVar(&c.overridesPath, "qos-profile-overrides-path", "", "YAML file with QoS profiles of publishers, by topic")
	flags.StringArrayVarP(&c.remap, "remap", "m", nil, "rename topics, `OLD:=NEW...`")
	flags.StringVar(&c.order, "message-order", "received", `play by the time messages were "received" or "sent"`)
	flags.StringVar(&c.latched, "latched", "start", "play transient_local messages from before the start offset first: start, seek (also after seeks) or off")
	flags.BoolVar(&c.noKeyboard, "disable-keyboard-controls", false, "do not obey keys")
	registerMsgPath(flags, &c.msgPath)
	c.node.register(cmd, nodeName, rosArgs)
}

// check refuses what can not work and turns flags and parameters into options.
func (c *playCall) check(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if err := onlyOne(flags, "clock", "clock-topics", "clock-topics-all"); err != nil {
		return err
	}
	if err := onlyOne(flags, "playback-until-sec", "playback-until-nsec"); err != nil {
		return err
	}
	if err := c.node.check(); err != nil {
		return err
	}
	for _, rule := range c.remap {
		if from, to, ok := strings.Cut(rule, ":="); !ok || from == "" || to == "" {
			return usagef("--remap %q: must be OLD:=NEW", rule)
		}
	}
	for _, rule := range c.remap {
		c.node.rosArgs = append(c.node.rosArgs, "--remap", rule)
	}
	if len(args) > 0 {
		c.bag = args[0]
	}
	c.clockOnTopics = c.clockAll || len(c.clockTopics) > 0
	settings := c.settings()
	if err := c.node.configure(settings, flags); err != nil {
		return err
	}
	if err := c.node.refuseSimTime(); err != nil {
		return err
	}
	if c.bag == "" {
		return oneBag(cmd, args)
	}
	return settings.explain(c.checkSettings(flags), c.node.parameters)
}

// checkSettings refuses settings that can not work.
func (c *playCall) checkSettings(flags *pflag.FlagSet) error {
	switch {
	case !(c.rate > 0) || math.IsInf(c.rate, 0):
		return usagef("--rate %v: is not in the valid range (> 0.0)", c.rate)
	case flags.Changed("clock") && !(c.clockHz > 0 && c.clockHz <= maxClockHz):
		return usagef("--clock %v: is not in the valid range (> 0.0, at most %v)", c.clockHz, maxClockHz)
	case flags.Changed("delay") && !validSeconds(c.delay):
		return usagef("--delay %v: is not in the valid range (>= 0.0)", c.delay)
	case flags.Changed("start-offset") && !validSeconds(c.startOffset):
		return usagef("--start-offset %v: is not in the valid range (>= 0.0, at most %v)", c.startOffset, maxSeconds)
	case math.IsNaN(c.duration) || c.duration > maxSeconds || math.IsNaN(c.untilSec) || c.untilSec > maxSeconds:
		return usagef("--playback-duration and --playback-until-sec: seconds are a number up to %v", maxSeconds)
	case c.readAhead <= 0:
		return usagef("--read-ahead-bytes %d: must be greater than 0", c.readAhead)
	}
	if err := checkMsgPath(c.msgPath); err != nil {
		return err
	}
	overrides, err := readOverrides(c.overridesPath)
	if err != nil {
		return err
	}
	c.options = player.Options{
		Rate: c.rate, StartPaused: c.startPaused, Loop: c.loop, ReadAhead: c.readAhead, Overrides: overrides,
		StartOffset: fromSeconds(c.startOffset), Delay: fromSeconds(c.delay),
		ClockFrequency: c.clockHz, ClockAllTopics: c.clockOnTopics && len(c.clockTopics) == 0,
		Filter: player.Filter{
			Topics: c.topics, ExcludeTopics: c.excludeTopics, Regex: c.regex, ExcludeRegex: c.excludeRegex,
		},
	}
	if c.clockOnTopics {
		c.options.ClockTopics = c.clockTopics
	}
	if err := c.options.Filter.Check(); err != nil {
		return &usageError{err}
	}
	c.options.Limit = c.limit()
	if c.options.Order, err = parseOrder(c.order); err != nil {
		return err
	}
	c.options.Latched, err = parseLatched(c.latched)
	return err
}

// onlyOne refuses flags that exclude each other.
func onlyOne(flags *pflag.FlagSet, names ...string) error {
	var given []string
	for _, name := range names {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usagef("%s: only one of them can be given", strings.Join(given, ", "))
	}
	return nil
}

const (
	maxSeconds = float64(math.MaxInt64 / int64(time.Second)) // what a duration in nanoseconds holds
	maxClockHz = 1e6                                         // more has no meaning on any machine
)

func validSeconds(s float64) bool { return s >= 0 && s <= maxSeconds }

func fromSeconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// limit is the end of playing; negative numbers are rosbag2's way of saying that there is none.
func (c *playCall) limit() player.Limit {
	var limit player.Limit
	if c.duration >= 0 {
		limit.Duration, limit.HasDuration = fromSeconds(c.duration), true
	}
	if c.untilSec >= 0 {
		limit.Until, limit.HasUntil = clock.Time(fromSeconds(c.untilSec)), true
	}
	if c.untilNsec >= 0 {
		limit.Until, limit.HasUntil = clock.Time(c.untilNsec), true
	}
	return limit
}

func parseOrder(word string) (storage.Order, error) {
	switch word {
	case "received":
		return storage.ByLogTime, nil
	case "sent":
		return storage.ByPublishTime, nil
	}
	return 0, usagef("--message-order %s: choose one of received, sent", strconv.Quote(word))
}

func parseLatched(word string) (player.Latched, error) {
	switch word {
	case "start":
		return player.LatchedStart, nil
	case "seek":
		return player.LatchedSeek, nil
	case "off":
		return player.LatchedOff, nil
	}
	return 0, usagef("--latched %s: choose one of start, seek, off", strconv.Quote(word))
}
