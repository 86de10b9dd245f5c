package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rosbagd/recorder"
	"rosbagd/storage/formats"
	"rosbagd/storage/qos"
)

// recordCall is one call of record or recorder: its flags as they were given, and what was read because of them.
type recordCall struct {
	topics        []string
	all           bool
	allTopics     bool
	allServices   bool
	allActions    bool
	includeHidden bool
	noDiscovery   bool
	pollingMillis int
	polling       time.Duration
	format        string // of serialized messages; no flag yet
	output        string
	storageID     string
	preset        string
	overridesPath string
	maxCacheSize  int64
	startPaused   bool
	useSimTime    bool
	customData    []string
	noKeyboard    bool
	msgPath       []string

	node nodeFlags

	idle      bool // recorder only: wait for ~/record
	overrides map[string]qos.Profile
	custom    map[string]string
}

func newRecordCommand(rosArgs []string) *cobra.Command {
	call := &recordCall{}
	cmd := &cobra.Command{
		Use:   "record [topics...]",
		Short: "Record topics to a new bag until INT, TERM or HUP" + needsROS,
		Example: `  rosbagd record -a                        everything, to rosbag2_<date>
  rosbagd record -o run1 /imu /camera      two topics, to the directory run1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			call.topics = append(call.topics, args...)
			if err := call.check(cmd); err != nil {
				return err
			}
			return runRecord(cmd.Context(), call)
		},
	}
	call.register(cmd, "rosbag2_recorder", rosArgs)
	return cmd
}

func newRecorderCommand(rosArgs []string) *cobra.Command {
	call := &recordCall{}
	cmd := &cobra.Command{
		Use:   "recorder [topics...]",
		Short: "Be the node /recorder: record and stop by service, for as long as it runs" + needsROS,
		Long: `Be the node /recorder. It begins to record at once, or with --idle when ~/record asks for it. ~/stop ends the bag,
~/record begins the next one. A bag that fails does not end the node.`,
		Example: `  rosbagd recorder -a --idle               wait for ~/record
  rosbagd recorder --ros-args --params-file robot.yaml -r __ns:=/robot1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			call.topics = append(call.topics, args...)
			if err := call.check(cmd); err != nil {
				return err
			}
			return runRecorder(cmd.Context(), call)
		},
	}
	call.register(cmd, "recorder", rosArgs)
	cmd.Flags().BoolVar(&call.idle, "idle", false, "record nothing until ~/record asks for it")
	return cmd
}

func (c *recordCall) register(cmd *cobra.Command, nodeName string, rosArgs []string) {
	c.format = "cdr"
	flags := cmd.Flags()
	flags.StringArrayVar(&c.topics, "topics", nil, "`TOPIC...` to record")
	flags.BoolVarP(&c.all, "all", "a", false, "record all topics, service events and actions")
	flags.BoolVar(&c.allTopics, "all-topics", false, "record all topics")
	flags.BoolVar(&c.allServices, "all-services", false, "record the events of all services whose introspection is on (their nodes decide)")
	flags.BoolVar(&c.allActions, "all-actions", false, "record all actions whose introspection is on (their nodes decide)")
	flags.BoolVar(&c.includeHidden, "include-hidden-topics", false, "record topics with a name part that begins with '_' too")
	flags.BoolVar(&c.noDiscovery, "no-discovery", false, "record only the topics that are there at the start")
	flags.IntVarP(&c.pollingMillis, "polling-interval", "p", 100, "milliseconds between looks at the graph, which is also looked at when it changes")
	flags.StringVarP(&c.output, "output", "o", "", "directory of the bag, which must not exist (default rosbag2_<date>)")
	flags.StringVarP(&c.storageID, "storage", "s", formats.DefaultID, "storage of the bag")
	flags.StringVar(&c.preset, "storage-preset-profile", "", "settings of the storage; for mcap none (default), fastwrite, zstd_fast, zstd_small, for sqlite3 resilient (default), none")
	flags.StringVar(&c.overridesPath, "qos-profile-overrides-path", "", "YAML file with QoS profiles of subscriptions, by topic")
	flags.Int64Var(&c.maxCacheSize, "max-cache-size", recorder.DefaultMaxCacheSize, "bytes that wait in memory to be written, at most")
	flags.BoolVar(&c.startPaused, "start-paused", false, "begin paused; ~/resume starts recording")
	flags.BoolVar(&c.useSimTime, "use-sim-time", false, "stamp what is received with the time of /clock, and begin when it tells one")
	flags.StringArrayVar(&c.customData, "custom-data", nil, "`KEY=VALUE...` for metadata.yaml")
	flags.BoolVar(&c.noKeyboard, "disable-keyboard-controls", true, "for scripts of rosbag2: no keys are read while recording")
	registerMsgPath(flags, &c.msgPath)
	c.node.register(cmd, nodeName, rosArgs)
}

// check refuses what can not work before anything is opened or created.
func (c *recordCall) check(cmd *cobra.Command) error {
	if err := c.node.check(); err != nil {
		return err
	}
	c.allTopics, c.allServices, c.allActions = c.all || c.allTopics, c.all || c.allServices, c.all || c.allActions
	c.polling = time.Duration(c.pollingMillis) * time.Millisecond
	settings := c.settings()
	if err := c.node.configure(settings, cmd.Flags()); err != nil {
		return err
	}
	return settings.explain(c.checkSettings(cmd), c.node.parameters)
}

// checkSettings refuses settings that can not work.
func (c *recordCall) checkSettings(cmd *cobra.Command) error {
	if !c.allTopics && !c.allServices && !c.allActions && len(c.topics) == 0 {
		return usagef("nothing to record: name topics, or give --all, --all-topics, --all-services or --all-actions")
	}
	if err := validTopics(c.topics); err != nil {
		return &usageError{err}
	}
	if c.allTopics && len(c.topics) > 0 {
		printWarning(cmd.ErrOrStderr(), "--all or --all-topics will override --topics")
	}
	if !c.noKeyboard {
		return usagef("--disable-keyboard-controls=false: this version reads no keys while recording, use ~/pause and ~/resume")
	}
	if c.useSimTime && c.noDiscovery {
		return usagef("--use-sim-time and --no-discovery both set, but are incompatible settings. The /clock topic needs to be discovered to record with sim time.")
	}
	if c.polling <= 0 {
		return usagef("--polling-interval %v: must be greater than 0", c.polling)
	}
	if c.maxCacheSize < 0 {
		return usagef("--max-cache-size %d: must not be negative", c.maxCacheSize)
	}
	if err := checkMsgPath(c.msgPath); err != nil {
		return err
	}
	if err := c.checkStorage(cmd); err != nil {
		return err
	}
	if err := c.checkOutput(); err != nil {
		return err
	}
	overrides, err := readOverrides(c.overridesPath)
	if err != nil {
		return err
	}
	c.overrides = profilesOf(overrides)
	c.custom, err = parseCustomData(c.customData)
	return err
}

// checkStorage refuses words that no storage has.
func (c *recordCall) checkStorage(cmd *cobra.Command) error {
	if c.storageID == "" {
		c.storageID = formats.DefaultID // so says a parameter
	}
	format, err := formats.Lookup(c.storageID)
	if err != nil {
		return usagef("--storage: %w", err)
	}
	if c.preset != "" && !slices.Contains(format.Presets, c.preset) {
		return usagef("--storage-preset-profile %q: choose one of %s", c.preset, strings.Join(format.Presets, ", "))
	}
	if risk := format.Risks[c.preset]; risk != "" {
		printWarning(cmd.ErrOrStderr(), "storage preset profile %s: %s", c.preset, risk)
	}
	return nil
}

// checkOutput says early what creating the bag would say late. The name of a bag without one is made here too, so that
// errors can name it.
func (c *recordCall) checkOutput() error {
	if c.output == "" {
		c.output = recorder.DefaultName(time.Now())
	}
	_, err := os.Lstat(c.output)
	switch {
	case err == nil:
		return fmt.Errorf("output folder '%s' already exists; nothing was changed in it, choose another with --output", c.output)
	case errors.Is(err, os.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("look at output folder: %w", err)
	}
}

func parseCustomData(pairs []string) (map[string]string, error) {
	custom := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--custom-data %q: must be KEY=VALUE", pair)
		}
		custom[key] = value
	}
	return custom, nil
}

// readOverrides reads a file of QoS profiles; no path is no overrides.
func readOverrides(path string) (map[string]qos.Override, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readOptionsFile(path)
	if err != nil {
		return nil, fmt.Errorf("--qos-profile-overrides-path: %w", err)
	}
	overrides, err := qos.ParseOverrides(path, data)
	if err != nil {
		return nil, fmt.Errorf("read QoS overrides: %w", err)
	}
	return overrides, nil
}

// profilesOf completes what a file leaves out with the default profile.
func profilesOf(overrides map[string]qos.Override) map[string]qos.Profile {
	profiles := make(map[string]qos.Profile, len(overrides))
	for topic, override := range overrides {
		profiles[topic] = override.Apply(qos.Default())
	}
	return profiles
}
