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

// readyInterval is how often a node that is to be asked is looked for.
const readyInterval = 20 * time.Millisecond

// Inquire asks the node of this full name for the definition of a type that it publishes or subscribes with this hash
// (~/get_type_description, from Jazzy on). It waits for the node's service and for its answer until ctx ends.
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
	for {
		ready, err := client.Ready()
		if err != nil {
			return nil, err
		}
		if ready {
			return client.Call(ctx, request)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
