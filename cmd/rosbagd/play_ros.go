//go:build ros

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"go.uber.org/zap"

	"rosbagd/bag"
	"rosbagd/clock"
	"rosbagd/msgs"
	"rosbagd/node"
	"rosbagd/node/param"
	"rosbagd/player"
)

// runPlay plays one bag, once or as often as services ask for it.
func runPlay(ctx context.Context, call *playCall, stderr io.Writer) error {
	reader, err := openBag(call.bag, call.storageID, stderr)
	if err != nil {
		return err
	}
	printNotes(stderr, reader)
	n, err := openNode(&call.node)
	if err != nil {
		return errors.Join(err, reader.Close())
	}
	err = playOn(ctx, n, reader, call)
	return errors.Join(err, closeNode(n), reader.Close())
}

// openBag opens a bag to play it, and looks at the ends of its files. When a compressed file is
// unpacked, a bar on stderr says how far that is.
func openBag(path, storageID string, stderr io.Writer) (*bag.Reader, error) {
	reader, err := bag.Open(path, bag.ReaderOptions{StorageID: storageID, Unpack: bag.UnpackOptions{Progress: showUnpacking(stderr)}})
	if err != nil {
		return nil, bagError(err)
	}
	reader.CheckFiles()
	return reader, nil
}

func playOn(ctx context.Context, n *node.Node, reader *bag.Reader, call *playCall) error {
	log := n.Logger()
	own := profilesOf(call.options.Overrides)
	splits, err := n.CreateEventPublisher("events/read_split", "rosbag2_interfaces/msg/ReadSplitEvent",
		ownProfile(n, call.node.name, "events/read_split", own, eventProfile()))
	if err != nil {
		return err
	}
	connect := player.Connections{
		Publishers: publishers{
			node: n, bag: reader, log: log, said: map[node.Type]bool{}, search: searchFor(call.msgPath),
		},
		Events: &readSplitEvents{publisher: splits, node: n.Name(), log: log},
	}
	options := call.options
	options.Logger = log
	for _, list := range []*[]string{&options.Filter.Topics, &options.Filter.ExcludeTopics, &options.ClockTopics} {
		*list = expandTopics(*list, n, call.node.name)
	}
	if options.ClockFrequency > 0 || options.ClockAllTopics || len(options.ClockTopics) > 0 {
		clockTopic, err := n.CreateEventPublisher("/clock", "rosgraph_msgs/msg/Clock",
			ownProfile(n, call.node.name, "/clock", own, clockProfile()))
		if err != nil {
			return err
		}
		connect.Clock = func(t clock.Time) error {
			return clockTopic.Publish(msgs.Clock{Clock: msgs.TimeFromNanos(int64(t))})
		}
	}
	options.Changed = call.node.parameters.Touch
	p, err := player.New(player.FromBag(reader), connect, options)
	if err != nil {
		return err
	}
	if err := p.Serve(n); err != nil {
		return err
	}
	bindPlayer(call.node.parameters, p)
	work := p.Run
	if !call.noKeyboard {
		work = withKeyboard(p, log)
	}
	return runWithServices(ctx, n.Run, work)
}

// bindPlayer ties parameters to what services and keys change too.
func bindPlayer(parameters *param.Store, p *player.Player) {
	parameters.Bind("play.rate", param.Number(p.Rate, p.SetRate))
	parameters.Bind("play.clock_publish_frequency", param.Number(p.ClockFrequency, p.SetClockFrequency))
}

// withKeyboard obeys keys for as long as the player runs.
func withKeyboard(p *player.Player, log *zap.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		reading, stop := context.WithCancel(ctx)
		var keyboard sync.WaitGroup
		keyboard.Go(func() {
			if err := player.NewKeyboard(os.Stdin, p, log).Run(reading); err != nil {
				log.Warn("keyboard controls ended", zap.Error(err))
			}
		})
		err := p.Run(ctx)
		stop()
		keyboard.Wait()
		return err
	}
}

type readSplitEvents struct {
	publisher *node.EventPublisher
	node      string
	log       *zap.Logger
}

func (e *readSplitEvents) ReadSplit(closed, opened string) {
	event := msgs.ReadSplitEvent{ClosedFile: closed, OpenedFile: opened, NodeName: e.node}
	if err := e.publisher.Publish(event); err != nil {
		e.log.Warn("split event was not published", zap.Error(err))
	}
}
