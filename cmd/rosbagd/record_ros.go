//go:build ros

package main

import (
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"rosbagd/bag"
	"rosbagd/msgs"
	"rosbagd/node"
	"rosbagd/recorder"
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
	return result, errors.Join(err, closeNode(n))
}

func recordOn(ctx context.Context, n *node.Node, call *recordCall, mode func(*recorder.Options)) (recorder.Result, error) {
	log := n.Logger()
	splits, err := n.CreateEventPublisher("events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent",
		ownProfile(n, call.node.name, "events/write_split", call.overrides, eventProfile()))
	if err != nil {
		return recorder.Result{}, err
	}
	options := call.recorderOptions(n)
	mode(&options)
	r := recorder.New(options, recorder.Environment{
		Graph: n, Subscriber: n, Logger: log,
		Bags:        recorder.NewBags(call.bagOptions(log)),
		Events:      writeSplitEvents{splits},
		Definitions: searchFor(call.msgPath), Types: n, Inquirer: n,
	})
	if err := r.Serve(n); err != nil {
		return recorder.Result{}, err
	}
	err = runWithServices(ctx, n.Run, r.Run)
	return r.Result(), err
}

func (c *recordCall) recorderOptions(n *node.Node) recorder.Options {
	return recorder.Options{
		NodeName: n.Name(), URI: c.output, StartPaused: c.startPaused, UseSimTime: c.useSimTime, NoDiscovery: c.noDiscovery,
		PollingInterval: c.polling, SerializationFormat: c.format,
		QoSOverrides: c.overrides, MaxCacheSize: c.maxCacheSize,
		Filter: recorder.Filter{
			Topics: expandTopics(c.topics, n, c.node.name), IncludeHidden: c.includeHidden,
			AllTopics: c.allTopics, AllServices: c.allServices, AllActions: c.allActions,
		},
	}
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
