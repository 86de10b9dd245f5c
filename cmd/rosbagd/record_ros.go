//go:build ros

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"rosbagd/bag"
	"rosbagd/msgs"
	"rosbagd/msgs/definition"
	"rosbagd/node"
	"rosbagd/recorder"
	"rosbagd/storage/qos"
)

// runRecord records one bag.
func runRecord(ctx context.Context, call *recordCall) error {
	result, err := runRecording(ctx, call, func(o *recorder.Options) { o.RecordAtStart, o.EndOnFailure = true, true })
	if err != nil {
		return err
	}
	if result.LostHere() {
		return errDataLost
	}
	return nil
}

// runRecorder records bag after bag. Losses are in the metadata and the log of each; they end nothing.
func runRecorder(ctx context.Context, call *recordCall) error {
	_, err := runRecording(ctx, call, func(o *recorder.Options) { o.RecordAtStart = !call.idle })
	return err
}

func runRecording(ctx context.Context, call *recordCall, mode func(*recorder.Options)) (recorder.Result, error) {
	n, err := openNode(&call.node)
	if err != nil {
		return recorder.Result{}, err
	}
	result, err := recordOn(ctx, n, call, mode)
	return result, errors.Join(err, n.Close())
}

func openNode(flags *nodeFlags) (*node.Node, error) {
	rosArgs, err := flags.arguments()
	if err != nil {
		return nil, err
	}
	n, err := node.Open(node.Options{Name: flags.name, ROSArgs: rosArgs})
	var argument *node.ArgumentError
	if errors.As(err, &argument) {
		return nil, &usageError{err}
	}
	return n, err
}

func recordOn(ctx context.Context, n *node.Node, call *recordCall, mode func(*recorder.Options)) (recorder.Result, error) {
	log := n.Logger()
	splits, err := n.CreateEventPublisher("events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", eventProfile())
	if err != nil {
		return recorder.Result{}, err
	}
	options := call.recorderOptions(n)
	mode(&options)
	r := recorder.New(options, recorder.Environment{
		Graph: n, Subscriber: n, Logger: log,
		Bags:        recorder.NewBags(call.bagOptions(log)),
		Events:      writeSplitEvents{splits},
		Definitions: definition.NewFinder(definition.Prefixes(os.Getenv("AMENT_PREFIX_PATH"))),
	})
	if err := r.Serve(n); err != nil {
		return recorder.Result{}, err
	}
	serve := func(ctx context.Context) error { return n.Run(ctx) }
	err = runWithServices(ctx, serve, r.Run)
	return r.Result(), err
}

// runWithServices runs work until it ends and serves the node's services for exactly as long.
func runWithServices(ctx context.Context, serve, work func(context.Context) error) error {
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

func (c *recordCall) recorderOptions(n *node.Node) recorder.Options {
	topics := make([]string, 0, len(c.topics))
	for _, topic := range c.topics {
		topics = append(topics, recorder.ExpandTopicName(topic, n.Namespace(), c.node.name))
	}
	return recorder.Options{
		NodeName: n.Name(), URI: c.output, StartPaused: c.startPaused, NoDiscovery: c.noDiscovery,
		PollingInterval: time.Duration(c.pollingMillis) * time.Millisecond,
		QoSOverrides:    c.overrides, MaxCacheSize: c.maxCacheSize,
		Filter: recorder.Filter{
			Topics: topics, IncludeHidden: c.includeHidden,
			AllTopics: c.all || c.allTopics, AllServices: c.all || c.allServices, AllActions: c.all || c.allActions,
		},
	}
}

// eventProfile is the QoS of events/write_split and events/read_split in rosbag2.
func eventProfile() qos.Profile {
	p := qos.Default()
	p.Depth = 1
	return p
}

type writeSplitEvents struct{ publisher *node.EventPublisher }

func (e writeSplitEvents) WriteSplit(event msgs.WriteSplitEvent) error {
	return e.publisher.Publish(event)
}

func (c *recordCall) bagOptions(log *zap.Logger) bag.WriterOptions {
	distro := os.Getenv("ROS_DISTRO")
	if distro == "" {
		distro = node.DefaultDistro()
	}
	return bag.WriterOptions{
		StorageID: c.storageID, Preset: c.preset, ROSDistro: distro, CustomData: c.custom, Logger: log,
	}
}
