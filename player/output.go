package player

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage/qos"
)

// output is a topic that is played.
type output struct {
	name        string
	publisher   Publisher
	latched     bool // its publisher keeps messages for late joiners
	clockBefore bool // a /clock goes out before each message
	failures    throttle
}

// openOutputs makes a publisher for each selected topic. One that can not be made costs its topic.
func (p *Player) openOutputs(ctx context.Context) {
	p.outputs = make([]*output, len(p.known))
	for _, id := range p.topics {
		if ctx.Err() != nil {
			return // ten thousand topics take seconds
		}
		topic := p.known[id]
		profile, mixed := offer(topic, p.source.Size())
		if override, ok := p.options.Overrides[topic.Name]; ok {
			profile = override.Apply(qos.Default())
			p.log.Info("Overriding QoS profile for topic " + topic.Name)
		} else if mixed {
			p.log.Warn("Not all original publishers on topic " + topic.Name + " offered the same QoS profiles. " +
				"Rosbag2 cannot yet choose an adapted profile to offer for this mixed case. " +
				"Falling back to the rosbag2_transport default publisher offer.")
		}
		publisher, err := p.connect.Publishers.CreatePublisher(topic.Name, topic.Type, profile)
		if err != nil {
			p.log.Warn(fmt.Sprintf("Ignoring a topic '%s', reason: %v.", topic.Name, err))
			continue
		}
		p.outputs[id] = &output{
			name: topic.Name, publisher: publisher, latched: profile.Durability == qos.TransientLocal,
			clockBefore: p.connect.Clock != nil &&
				(p.options.ClockAllTopics || slices.Contains(p.options.ClockTopics, topic.Name)),
			failures: throttle{every: time.Second},
		}
	}
}

const (
	// ackLimit bounds the wait for the last messages at the end of a bag, over all topics. A subscription that misses
	// one hears of it with the next heartbeat of its publisher, which Fast DDS sends every 3 s.
	ackLimit = 5 * time.Second
	// ackSlice is how often the wait looks whether it is still wanted.
	ackSlice = 100 * time.Millisecond
)

// deliver waits until subscriptions have the last messages: with its publisher goes what is still on its way.
func (p *Player) deliver(ctx context.Context) {
	end := time.Now().Add(ackLimit)
	for _, out := range p.outputs {
		if out != nil && !out.waitAcked(ctx, end) && ctx.Err() == nil {
			p.log.Warn("The last messages may not have arrived", zap.String("topic", out.name))
		}
	}
}

func (o *output) waitAcked(ctx context.Context, end time.Time) bool {
	for {
		left := time.Until(end)
		acked, err := o.publisher.WaitAcked(min(max(left, 0), ackSlice))
		if acked {
			return true
		}
		if err != nil || left <= 0 || ctx.Err() != nil {
			return false
		}
	}
}

func (p *Player) closeOutputs() {
	for _, out := range p.outputs {
		if out == nil {
			continue
		}
		if err := out.publisher.Close(); err != nil {
			p.log.Warn("Failed to destroy a publisher", zap.String("topic", out.name), zap.Error(err))
		}
	}
}
