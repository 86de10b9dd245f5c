//go:build ros

package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rosbagd/msgs/definition"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const (
	// readyInterval is how often the service of a node that is to be asked is looked for.
	readyInterval = 20 * time.Millisecond
	// readyLimit is how long it is looked for: who publishes has shown itself already, with its services.
	readyLimit = time.Second
	// answerLimit is how long an answer is waited for before the question is asked again: the first one of a client that
	// the other side has not fully seen yet is dropped there.
	answerLimit = 500 * time.Millisecond
)

var errNoInquiries = errors.New("it has no service for that")

// Inquire asks the node of this full name for the definition of a type that it publishes or subscribes with this hash
// (~/get_type_description, from Jazzy on). A node that offers the service is waited for until ctx ends, one that does
// not for a second.
func (n *Node) Inquire(ctx context.Context, node, typ, hash string) (d storage.Definition, err error) {
	client, err := n.CreateClient(node+"/get_type_description", definition.InquiryType, qos.Default())
	if err != nil {
		return storage.Definition{}, fmt.Errorf("ask %s about %s: %w", node, typ, err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	response, err := inquire(ctx, client, definition.EncodeInquiry(typ, hash))
	if err != nil {
		return storage.Definition{}, fmt.Errorf("ask %s about %s: %w", node, typ, err)
	}
	described, sources, err := definition.DecodeAnswer(response)
	if err != nil {
		return storage.Definition{}, fmt.Errorf("ask %s about %s: %w", node, typ, err)
	}
	if described.Type.Name != typ {
		return storage.Definition{}, fmt.Errorf("ask %s about %s: it describes %.200q", node, typ, described.Type.Name)
	}
	return definition.FromDescription(described, sources)
}

func inquire(ctx context.Context, client *Client, request []byte) ([]byte, error) {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	limit := time.NewTimer(readyLimit)
	defer limit.Stop()
	for {
		ready, err := client.Ready()
		if err != nil {
			return nil, err
		}
		if ready {
			return askUntilAnswered(ctx, client, request)
		}
		select {
		case <-ticker.C:
		case <-limit.C:
			return nil, errNoInquiries
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func askUntilAnswered(ctx context.Context, client *Client, request []byte) ([]byte, error) {
	for {
		call, cancel := context.WithTimeout(ctx, answerLimit)
		response, err := client.Call(call, request)
		again := call.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !again {
			return response, err
		}
	}
}
