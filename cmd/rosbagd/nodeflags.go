package main

import "github.com/spf13/cobra"

// nodeFlags are the flags of every verb that becomes a node.
type nodeFlags struct {
	name     string
	logLevel string
	rosArgs  []string
}

func (f *nodeFlags) register(cmd *cobra.Command, defaultName string, rosArgs []string) {
	f.rosArgs = rosArgs
	cmd.Flags().StringVar(&f.name, "node-name", defaultName, "name of the node")
	cmd.Flags().StringVar(&f.logLevel, "log-level", "", "debug, info, warn, error or fatal (default info)")
}
