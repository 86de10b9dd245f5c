//go:build ros

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"rosbagd/msgs/definition"
	"rosbagd/node"
	"rosbagd/node/param"
	"rosbagd/recorder"
)

// needsROS is put behind the help of verbs that need ROS, which this build has.
const needsROS = ""

// arguments are the ROS arguments with the log level among them.
func (f *nodeFlags) arguments() []string {
	if f.logLevel == "" {
		return f.rosArgs
	}
	return append([]string{"--log-level", f.logLevel}, f.rosArgs...)
}

func (f *nodeFlags) options() node.Options {
	return node.Options{Name: f.name, ROSArgs: f.arguments(), Parameters: f.parameters}
}

// parameterOverrides reads what parameter files and -p say.
func parameterOverrides(flags *nodeFlags) (param.Overrides, error) {
	overrides, err := node.ParameterOverrides(flags.options())
	return overrides, argumentError(err)
}

func openNode(flags *nodeFlags) (*node.Node, error) {
	n, err := node.Open(flags.options())
	if err != nil {
		return nil, argumentError(err)
	}
	for _, warning := range flags.warnings {
		n.Logger().Warn(warning)
	}
	if names := withoutEffect(flags.parameters); names != "" {
		n.Logger().Warn("Parameters that this node does not have, and that have no effect: " + names)
	}
	return n, nil
}

// withoutEffect names, with where they were set, the parameters that were given for a node but that it does not have;
// empty when there are none.
func withoutEffect(store *param.Store) string {
	var names []string
	for _, name := range store.Unused() {
		override, _ := store.Override(name)
		names = append(names, fmt.Sprintf("%s (%s)", name, override.Source))
	}
	return strings.Join(names, ", ")
}

// argumentError makes wrong usage of errors about ROS arguments.
func argumentError(err error) error {
	var argument *node.ArgumentError
	if errors.As(err, &argument) {
		return &usageError{err}
	}
	return err
}

// closeNode ends the node and with it the log of the process.
func closeNode(n *node.Node) error {
	return errors.Join(n.Close(), node.EndLogging())
}

// runWithServices runs work until it ends or a signal asks for it, and serves the node's services for exactly as long.
// Before it, signals have their usual effect: there is nothing yet that must be ended in order.
func runWithServices(ctx context.Context, serve, work func(context.Context) error) error {
	ctx, stop := signalContext(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(context.WithoutCancel(ctx))
	serving, stopServing := context.WithCancel(groupCtx)
	defer stopServing()
	// A failure of the node ends the work in order, and an end that the user asks for does not end the node first.
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	group.Go(func() error {
		defer stopWorking()
		return serve(serving)
	})
	group.Go(func() error {
		defer stopServing()
		return work(working)
	})
	return group.Wait()
}

// expandTopics makes topic names that a user gave full.
func expandTopics(names []string, n *node.Node, nodeName string) []string {
	var full []string
	for _, name := range names {
		full = append(full, recorder.ExpandTopicName(name, n.Namespace(), nodeName))
	}
	return full
}

// searchFor looks for definitions in what is installed, then in the paths of --msg-path.
func searchFor(msgPath []string) definition.Search {
	return definition.NewSearch(definition.Prefixes(os.Getenv("AMENT_PREFIX_PATH")), msgPath)
}
