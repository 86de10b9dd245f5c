package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rosbagd/node/param"
)

// nodeFlags are the flags of every verb that becomes a node.
type nodeFlags struct {
	name     string
	logLevel string
	rosArgs  []string

	parameters *param.Store // made by configure
	warnings   []string     // for when there is a node to log them
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

// configure declares the parameters of the node, and puts the values that they begin with into the settings.
func (f *nodeFlags) configure(settings settings, flags *pflag.FlagSet) error {
	overrides, err := parameterOverrides(f)
	if err != nil {
		return err
	}
	f.parameters = param.NewStore(overrides)
	return settings.declare(f.parameters, flags)
}

// simTime is the parameter that every node of ROS has.
const simTime = "use_sim_time"

// refuseSimTime declares it for a player, whose time is that of its bag. A launch file that asks all nodes to follow
// /clock must not end the one that may publish it, so at the start it is a warning.
func (f *nodeFlags) refuseSimTime() error {
	const why = "the time of a player is that of its bag, it can not follow /clock"
	_, err := f.parameters.Declare(param.Declaration{
		Name: simTime, Value: param.Of(false), Settled: true,
		Descriptor: param.Descriptor{Description: "follow /clock", ReadOnly: why},
	})
	if err != nil {
		return &usageError{err}
	}
	if override, ok := f.parameters.Override(simTime); ok && !override.Value.Equal(param.Of(false)) {
		f.warnings = append(f.warnings, "use_sim_time ("+override.Source+") has no effect: "+why)
	}
	return nil
}
