package main

import (
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
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("rosbagd {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: %w (see '%s --help')", cmd.CommandPath(), err, cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newRecordCommand(rosArgs),
		newPlayCommand(rosArgs),
		newInfoCommand(),
		newRecorderCommand(rosArgs),
		newPlayerCommand(rosArgs),
	)
	return root
}

// exactArgs is cobra's check with our exit code for wrong usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %w (see '%s --help')", cmd.CommandPath(), err, cmd.CommandPath())
		}
		return nil
	}
}
