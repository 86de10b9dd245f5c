package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rosbagd/bag"
	"rosbagd/recorder"
	"rosbagd/storage"
)

// inputsFlag is --input, which takes one or two words: a bag and its storage. expandArgs joins the words.
type inputsFlag []bag.ConvertInput

const wordSeparator = "\x00" // no argument of a program can have it

func (f *inputsFlag) String() string { return "" }

func (f *inputsFlag) Type() string { return "URI [STORAGE]" }

func (f *inputsFlag) Set(text string) error {
	words := strings.Split(text, wordSeparator)
	if len(words) > 2 {
		return fmt.Errorf("1 or 2 words are expected, a bag and its storage, not %d; give --input for each bag", len(words))
	}
	input := bag.ConvertInput{Path: words[0]}
	if len(words) == 2 {
		input.StorageID = words[1]
	}
	*f = append(*f, input)
	return nil
}

// convertFlags are the flags that stand for a file of output options.
type convertFlags struct {
	names []string // of all of them

	storageID, preset, config string
	mode, format              string
	level, threads            int
	all                       bool
	selection                 bag.Selection
	regex, excludeRegex       string
	startTime, endTime        string
	startOffset, duration     float64
	rename                    []string
	maxSize                   int64
	maxDuration               float64
	metadataVersion           int
	distro                    string
	customData                []string
}

func (c *convertFlags) register(target *pflag.FlagSet) {
	flags := pflag.NewFlagSet("output", pflag.ContinueOnError)
	s := &c.selection
	flags.StringVarP(&c.storageID, "storage", "s", "", "storage of the new bag (default mcap)")
	flags.StringVar(&c.preset, "storage-preset-profile", "", "settings of the storage; for mcap none, fastwrite, zstd_fast, zstd_small, for sqlite3 none, resilient")
	flags.StringVar(&c.config, "storage-config-file", "", "YAML `FILE` with settings of the storage, over the preset (docs/storage-config.md)")
	flags.StringVar(&c.mode, "compression-mode", "none", "compress by file or message, or none; for mcap presets compress better")
	flags.StringVar(&c.format, "compression-format", "", "format of --compression-mode (default zstd)")
	flags.IntVar(&c.level, "compression-level", 0, "level of --compression-mode, 1 the fastest (default 1)")
	flags.IntVar(&c.threads, "compression-threads", 0, "messages or files that are compressed at a time; 0 is by the number of cores")
	flags.BoolVarP(&c.all, "all", "a", false, "take all topics, service events and actions, as without any selection")
	flags.BoolVar(&s.AllTopics, "all-topics", false, "take all topics but those of services and actions")
	flags.BoolVar(&s.AllServices, "all-services", false, "take the events of all services")
	flags.BoolVar(&s.AllActions, "all-actions", false, "take all actions")
	flags.StringArrayVar(&s.Topics, "topics", nil, "take `TOPIC...`; give the bags before it")
	flags.StringArrayVar(&s.TopicTypes, "topic-types", nil, "take the topics of `TYPE...`")
	flags.StringArrayVar(&s.Services, "services", nil, "take the events of `SERVICE...`")
	flags.StringArrayVar(&s.Actions, "actions", nil, "take `ACTION...`")
	flags.StringVarP(&c.regex, "regex", "e", "", "take the topics, services and actions whose whole name matches this ECMAScript expression")
	flags.StringArrayVar(&s.ExcludeTopics, "exclude-topics", nil, "leave `TOPIC...` out")
	flags.StringArrayVar(&s.ExcludeTopicTypes, "exclude-topic-types", nil, "leave the topics of `TYPE...` out")
	flags.StringArrayVar(&s.ExcludeServices, "exclude-services", nil, "leave the events of `SERVICE...` out")
	flags.StringArrayVar(&s.ExcludeActions, "exclude-actions", nil, "leave `ACTION...` out")
	flags.StringVarP(&c.excludeRegex, "exclude-regex", "x", "", "leave out what has a whole name that matches this expression")
	flags.StringVar(&c.startTime, "start-time", "", "first `TIME`: nanoseconds, seconds with a point (1741338902.5), or 2025-03-07T09:15:02.5Z")
	flags.StringVar(&c.endTime, "end-time", "", "last `TIME`, inclusive")
	flags.Float64Var(&c.startOffset, "start-offset", 0, "seconds from the start of the bags where the new one begins")
	flags.Float64Var(&c.duration, "duration", 0, "seconds that the new bag has at most, from its start on")
	flags.StringArrayVarP(&c.rename, "remap", "m", nil, "rename topics, `OLD:=NEW...`")
	flags.Int64VarP(&c.maxSize, "max-bag-size", "b", 0, "begin a new file when one has this many bytes; 0 is no limit")
	flags.Float64VarP(&c.maxDuration, "max-bag-duration", "d", 0, "begin a new file when one has this many seconds; 0 is no limit")
	flags.IntVar(&c.metadataVersion, "metadata-version", 0, "version of metadata.yaml, 4 to 9 (default the newest)")
	flags.StringVar(&c.distro, "distro", "", "write what this `DISTRO` of ROS 2 reads: foxy, galactic, humble, iron, jazzy or a newer one")
	flags.StringArrayVar(&c.customData, "custom-data", nil, "`KEY=VALUE...` for metadata.yaml, beside that of the bags")
	flags.VisitAll(func(f *pflag.Flag) { c.names = append(c.names, f.Name) })
	target.AddFlagSet(flags)
}

// given are the flags that were used.
func (c *convertFlags) given(flags *pflag.FlagSet) []string {
	var given []string
	for _, name := range c.names {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// output makes of the flags what a file of output options says.
func (c *convertFlags) output(flags *pflag.FlagSet, directory string) (bag.ConvertOutput, error) {
	out := bag.ConvertOutput{Path: directory}
	steps := []func(*pflag.FlagSet, *bag.ConvertOutput) error{c.selectTopics, c.times, c.renames, c.writer, c.versions, c.custom}
	for _, step := range steps {
		if err := step(flags, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (c *convertFlags) selectTopics(_ *pflag.FlagSet, out *bag.ConvertOutput) error {
	s := c.selection
	s.IncludeHidden = true
	var err error
	if s.Regex, err = bag.MatchWhole(c.regex); err != nil {
		return usagef("--regex: %w", err)
	}
	if s.ExcludeRegex, err = bag.MatchWhole(c.excludeRegex); err != nil {
		return usagef("--exclude-regex: %w", err)
	}
	if c.all || s.Empty() {
		s.AllTopics, s.AllServices, s.AllActions = true, true, true
	}
	out.Selection = s
	return nil
}

func (c *convertFlags) times(flags *pflag.FlagSet, out *bag.ConvertOutput) error {
	if err := onlyOne(flags, "start-time", "start-offset"); err != nil {
		return err
	}
	if err := onlyOne(flags, "end-time", "duration"); err != nil {
		return err
	}
	if !validSeconds(c.startOffset) {
		return usagef("--start-offset %v: is not in the valid range (>= 0.0, at most %v)", c.startOffset, maxSeconds)
	}
	if flags.Changed("duration") && !(validSeconds(c.duration) && c.duration > 0) {
		return usagef("--duration %v: is not in the valid range (> 0.0, at most %v)", c.duration, maxSeconds)
	}
	out.StartOffset, out.Duration = fromSeconds(c.startOffset), fromSeconds(c.duration)
	var err error
	if flags.Changed("start-time") {
		if out.Times.FromNanos, err = parseTime(c.startTime); err != nil {
			return usagef("--start-time %q: %w", c.startTime, err)
		}
	}
	if flags.Changed("end-time") {
		if out.Times.UntilNanos, err = parseTime(c.endTime); err != nil {
			return usagef("--end-time %q: %w", c.endTime, err)
		}
		out.Times.HasUntil = true
		if out.Times.UntilNanos < out.Times.FromNanos {
			return usagef("--end-time %s: lies before --start-time %s", c.endTime, c.startTime)
		}
	}
	return nil
}

var errTimeFormat = errors.New("a time is nanoseconds since 1970, seconds with a point (1741338902.5), or a date like 2025-03-07T09:15:02.5Z")

// parseTime keeps all digits: seconds are not taken for a float.
func parseTime(text string) (int64, error) {
	if strings.ContainsAny(text, "Tt") {
		t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		if err != nil || t.Before(time.Unix(0, 0)) || t.After(time.Unix(0, math.MaxInt64)) {
			return 0, errTimeFormat
		}
		return t.UnixNano(), nil
	}
	seconds, rest, isSeconds := strings.Cut(text, ".")
	if !isSeconds {
		nanos, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return 0, errTimeFormat
		}
		return int64(nanos), nil
	}
	if len(rest) > 9 || seconds+rest == "" {
		return 0, errTimeFormat
	}
	whole, err := strconv.ParseUint("0"+seconds, 10, 63)
	if err != nil || whole > uint64(math.MaxInt64/time.Second)-1 {
		return 0, errTimeFormat
	}
	part, err := strconv.ParseUint((rest + "000000000")[:9], 10, 63)
	if err != nil {
		return 0, errTimeFormat
	}
	return int64(whole)*int64(time.Second) + int64(part), nil
}

func (c *convertFlags) renames(_ *pflag.FlagSet, out *bag.ConvertOutput) error {
	out.Rename = make(map[string]string, len(c.rename))
	for _, rule := range c.rename {
		from, to, ok := strings.Cut(rule, ":=")
		if !ok || from == "" || to == "" {
			return usagef("--remap %q: must be OLD:=NEW", rule)
		}
		from, to = "/"+strings.TrimPrefix(from, "/"), "/"+strings.TrimPrefix(to, "/")
		if err := recorder.ValidateTopicName(to); err != nil {
			return usagef("--remap %q: %w", rule, err)
		}
		if other, ok := out.Rename[from]; ok && other != to {
			return usagef("--remap: %s gets two names, %s and %s", from, other, to)
		}
		out.Rename[from] = to
	}
	return nil
}

func (c *convertFlags) writer(flags *pflag.FlagSet, out *bag.ConvertOutput) error {
	if !validSeconds(c.maxDuration) {
		return usagef("--max-bag-duration %v: is not in the valid range (>= 0.0, at most %v)", c.maxDuration, maxSeconds)
	}
	if c.maxSize < 0 {
		return usagef("--max-bag-size %d: must not be negative", c.maxSize)
	}
	if flags.Changed("compression-format") && !flags.Changed("compression-mode") {
		return usagef("Invalid choice: Cannot specify compression format without a compression mode.")
	}
	if c.threads < 0 {
		return usagef("--compression-threads %d: must not be negative, 0 is by the number of cores", c.threads)
	}
	if c.level < 0 {
		return usagef("--compression-level %d: must not be negative", c.level)
	}
	out.Writer = bag.WriterOptions{
		StorageID: c.storageID, Preset: c.preset, MaxSize: c.maxSize, MaxDuration: fromSeconds(c.maxDuration),
		CompressionMode: c.mode, CompressionFormat: c.format, CompressionLevel: c.level, CompressionThreads: c.threads,
	}
	if c.config != "" {
		data, err := readOptionsFile(c.config)
		if err != nil {
			return fmt.Errorf("--storage-config-file: %w", err)
		}
		out.Writer.StorageConfig = storage.Config{Path: c.config, Data: data}
	}
	return nil
}

// distroVersions are the newest metadata that each distro reads (contents of the pages of rosbag2 by distro).
func distroVersions() map[string]int {
	return map[string]int{"foxy": 4, "galactic": 4, "humble": 5, "iron": 7}
}

func (c *convertFlags) versions(flags *pflag.FlagSet, out *bag.ConvertOutput) error {
	out.Writer.MetadataVersion = c.metadataVersion
	if flags.Changed("metadata-version") && (c.metadataVersion < bag.OldestMetadataVersion || c.metadataVersion > bag.MetadataVersion) {
		return usagef("--metadata-version %d: choose one of %d to %d", c.metadataVersion, bag.OldestMetadataVersion, bag.MetadataVersion)
	}
	if c.distro == "" {
		return nil
	}
	distro := strings.ToLower(c.distro)
	version, old := distroVersions()[distro]
	if !old && distro < "jazzy" {
		return usagef("--distro %s: is not known; choose foxy, galactic, humble, iron, jazzy or a newer one, or give --metadata-version", c.distro)
	}
	if !old {
		version = bag.MetadataVersion
	}
	if flags.Changed("metadata-version") && c.metadataVersion != version {
		return usagef("--distro %s, --metadata-version %d: the distro reads version %d; give one of the flags", c.distro, c.metadataVersion, version)
	}
	out.Writer.MetadataVersion = version
	out.Writer.FileNames = bag.FileNamesOf(distro)
	if distro == "foxy" || distro == "galactic" {
		if out.Writer.StorageID == "" {
			out.Writer.StorageID = "sqlite3" // mcap came with Humble
		}
	}
	return nil
}

func (c *convertFlags) custom(_ *pflag.FlagSet, out *bag.ConvertOutput) error {
	custom, err := parseCustomData(c.customData)
	out.Writer.CustomData = custom
	return err
}
