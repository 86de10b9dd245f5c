package recorder

import (
	"encoding/binary"
	"fmt"
	"time"

	"rosbagd/clock"
	"rosbagd/node"
	"rosbagd/storage/qos"
)

const (
	clockTopic = "/clock"
	clockType  = "rosgraph_msgs/msg/Clock"
)

// simTime stamps messages with the time of a simulation, which /clock tells. It has a subscription of its own, for as
// long as Run: what is recorded does not decide what time it is. A nil simTime is no simulation.
type simTime struct {
	subscriber Subscriber
	id         node.SubscriptionID
	found      chan struct{} // closed when /clock has told a time

	follower clock.Follower // of the taking goroutine
}

// followClock subscribes to /clock in the way of every ROS node, but with a history: each message counts. It must be the
// first subscription: the node takes that one last, so that no message is taken before a /clock that arrived before it.
func followClock(subscriber Subscriber, overrides map[string]qos.Profile) (*simTime, error) {
	profile, ok := overrides[clockTopic]
	if !ok {
		profile = class{}.profile(DefaultDepth)
	}
	id, err := subscriber.Subscribe(clockTopic, clockType, profile)
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", clockTopic, err)
	}
	return &simTime{subscriber: subscriber, id: id, found: make(chan struct{})}, nil
}

// end gives the subscription back.
func (s *simTime) end() error {
	if s == nil {
		return nil
	}
	return s.subscriber.Unsubscribe(s.id)
}

// started says whether it is known what time it is.
func (s *simTime) started() bool {
	if s == nil {
		return true
	}
	select {
	case <-s.found:
		return true
	default:
		return false
	}
}

// follow takes the messages of /clock out of a batch.
func (s *simTime) follow(b *node.Batch) {
	if s == nil {
		return
	}
	kept := b.Messages[:0]
	for i := range b.Messages {
		m := &b.Messages[i]
		if m.Subscription != s.id {
			kept = append(kept, *m)
			continue
		}
		if told, ok := clockNanos(m.Data); ok && told != 0 {
			s.follower.Add(m.ReceivedNanos, clock.Time(told))
			if !s.started() {
				close(s.found)
			}
		}
	}
	b.Messages = kept
}

// at gives the time to record for what was received at an instant; false when it was before the first /clock.
func (s *simTime) at(receivedNanos int64) (int64, bool) {
	if s == nil {
		return receivedNanos, true
	}
	told, ok := s.follower.At(receivedNanos)
	return int64(told), ok
}

// clockNanos reads a serialized rosgraph_msgs/msg/Clock: four bytes that tell the byte order, seconds, nanoseconds.
func clockNanos(data []byte) (nanos int64, ok bool) {
	if len(data) < 12 || data[0] != 0 || data[1] > 1 {
		return 0, false
	}
	var order binary.ByteOrder = binary.BigEndian
	if data[1] == 1 {
		order = binary.LittleEndian
	}
	seconds, fraction := int32(order.Uint32(data[4:])), order.Uint32(data[8:])
	return int64(seconds)*int64(time.Second) + int64(fraction), true
}
