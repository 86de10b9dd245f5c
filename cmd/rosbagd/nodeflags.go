package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

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

// check refuses what rcl would refuse with a place in its sources.
func (f *nodeFlags) check() error {
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(f.name) {
		return usagef("--node-name %q: only letters, digits and '_' are allowed, and no digit at the start", f.name)
	}
	if domain := os.Getenv("ROS_DOMAIN_ID"); domain != "" {
		if id, err := strconv.Atoi(domain); err != nil || id < 0 || id > 232 {
			return usagef("ROS_DOMAIN_ID=%s: must be a number from 0 to 232", domain)
		}
	}
	levels := []string{"debug", "info", "warn", "error", "fatal"}
	if f.logLevel != "" && !slices.Contains(levels, f.logLevel) {
		return usagef("--log-level %q: choose one of %s", f.logLevel, strings.Join(levels, ", "))
	}
	return nil
}
