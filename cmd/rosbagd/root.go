package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newRootCommand makes the command with all verbs. rosArgs is what stood between --ros-args and -- on the command line.
func newRootCommand(rosArgs []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "rosbagd",
		Short: "Record and play ROS 2 bags",
		Long: `rosbagd records what the nodes of a ROS 2 graph publish and plays it back.
It speaks the services, topics, flags and files of rosbag2 (ros2 bag).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("rosbagd {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(
		newRecordCommand(rosArgs),
		newPlayCommand(rosArgs),
		newInfoCommand(),
		newListCommand(),
		newVerifyCommand(),
		newConvertCommand(),
		newReindexCommand(),
		newRecorderCommand(rosArgs),
		newPlayerCommand(rosArgs),
	)
	return root
}

// oneBagAtMost is the check of the verbs whose bag may be named by a parameter.
func oneBagAtMost(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return oneBag(cmd, args)
}

// oneBag is the check of the verbs that work on one bag.
func oneBag(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		hint := ""
		if slices.ContainsFunc(listFlags(), func(name string) bool { return cmd.Flags().Lookup(strings.TrimLeft(name, "-")) != nil }) {
			hint = ", before flags that take a list"
		}
		return usagef("%s: give the path of a bag%s", cmd.CommandPath(), hint)
	case 1:
		return nil
	}
	return usagef("%s: give the path of one bag only, not %s", cmd.CommandPath(), strings.Join(args, " "))
}

// unknownVerb suggests what may have been meant.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", similar[0])
	} else if args[0] == "burst" {
		hint = ", a verb of rosbag2 that this version does not have yet"
	}
	return usagef("unknown command %q%s (see '%s --help')", args[0], hint, cmd.CommandPath())
}

// flagError tells flags of rosbag2 that are still missing from typing errors.
func flagError(cmd *cobra.Command, err error) error {
	if missing := missingFlag(cmd.Name(), err.Error()); missing != "" {
		return usagef("%s: %s is a flag of rosbag2 that this version does not have yet", cmd.CommandPath(), missing)
	}
	// The value is quoted before it already, and which function of Go could not read it is nobody's business.
	text := regexp.MustCompile(`strconv\.\w+: parsing ".*": `).ReplaceAllString(err.Error(), "")
	text = strings.ReplaceAll(text, `\x00`, " ") // wordSeparator, as it is quoted
	return usagef("%s: %s (see '%s --help')", cmd.CommandPath(), text, cmd.CommandPath())
}

// missingFlag finds the flag of rosbag2 that pflag complains of; empty when it is none. A short one is told with its
// long name.
func missingFlag(verb, complaint string) string {
	verb = strings.TrimSuffix(verb, "er")
	if verb != "record" && verb != "play" {
		return "" // the others have all flags of rosbag2
	}
	if name, unknown := strings.CutPrefix(complaint, "unknown flag: "); unknown && slices.Contains(missingFlags(), name) {
		return name
	}
	var letter rune
	if _, err := fmt.Sscanf(complaint, "unknown shorthand flag: '%c'", &letter); err != nil {
		return ""
	}
	short := "-" + string(letter)
	if name := missingShortFlags()[verb+" "+short]; name != "" {
		return short + " (" + name + ")"
	}
	return ""
}

// missingShortFlags are the short ones of missingFlags, by verb.
func missingShortFlags() map[string]string {
	return map[string]string{
		"play -i":   "--input",
		"record -b": "--max-bag-size",
		"record -d": "--max-bag-duration",
		"record -e": "--regex",
		"record -f": "--serialization-format",
		"record -x": "--exclude",
	}
}

// missingFlags are those of the newest rosbag2 for record and play that have no meaning here yet.
func missingFlags() []string {
	return []string{
		"--actions", "--compression-format", "--compression-mode", "--compression-queue-size", "--compression-threads",
		"--compression-threads-priority", "--disable-loan-message", "--exclude", "--exclude-actions", "--exclude-regex",
		"--exclude-services", "--exclude-topic-types", "--exclude-topics", "--ignore-leaf-topics",
		"--include-unpublished-topics", "--input", "--max-bag-duration", "--max-bag-files", "--max-bag-size",
		"--max-cache-duration", "--progress-bar-separation-lines", "--progress-bar-update-rate", "--publish-service-requests",
		"--regex", "--repeat-all-transient-local", "--repeat-transient-local", "--send-actions-as-client",
		"--serialization-format", "--service-requests-source", "--services", "--snapshot-mode", "--static-topics-path",
		"--stats_max_publishing_rate", "--storage-config-file", "--topic-types", "--wait-for-all-acked",
	}
}
