//go:build ros

package node

import (
	"fmt"
	"sync"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"

	"rosbagd/msgs/gen"
	"rosbagd/storage/qos"
)

// EventPublisher publishes messages of our own types (package msgs): split events, /clock.
type EventPublisher struct {
	node      *Node
	mu        sync.Mutex // rclgo's publisher is not for several goroutines at once
	support   types.MessageTypeSupport
	publisher *rclgo.Publisher
}

// CreateEventPublisher adds a publisher of a type that msgs has, by its full name ("rosgraph_msgs/msg/Clock").
func (n *Node) CreateEventPublisher(topic, typ string, profile qos.Profile) (*EventPublisher, error) {
	support, ok := gen.Messages[typ]
	if !ok {
		return nil, fmt.Errorf("create publisher for %s: type %s: %w", topic, typ, ErrNotInstalled)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	publisher, err := n.ros.NewPublisher(topic, support, &rclgo.PublisherOptions{Qos: profileToRclgo(profile)})
	if err != nil {
		return nil, fmt.Errorf("create publisher for %s: %w", topic, firstLine(err))
	}
	return &EventPublisher{node: n, support: support, publisher: publisher}, nil
}

// Publish sends one message, a struct of package msgs. Its publisher ends with the node.
func (p *EventPublisher) Publish(message any) error {
	raw := p.support.New()
	copyFields(raw, message)
	p.node.mu.RLock()
	defer p.node.mu.RUnlock()
	if p.node.closed {
		return ErrClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.publisher.Publish(raw); err != nil {
		return fmt.Errorf("publish event: %w", firstLine(err))
	}
	return nil
}
