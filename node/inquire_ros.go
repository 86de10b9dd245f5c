//go:build ros

package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

// questionsAtOnce is how many questions to one node are under way at a time. The histories of its service and of our
// client hold a few more, by default 10; what they do not hold is lost.
const questionsAtOnce = 8

// inquirer is the client with which one node is asked. All questions share it: with a client for each, two hundred types
// would be two hundred services to discover.
type inquirer struct {
	client *Client
	turns  chan struct{}
	users  int
}

// inquirers are those in use, by the full name of the node.
type inquirers struct {
	mu   sync.Mutex
	open map[string]*inquirer
}

// Inquire asks the node of this full name for the definition of a type that it publishes or subscribes with this hash
// (~/get_type_description, from Jazzy on). A node that offers the service is waited for until ctx ends, one that does
// not for a second.
func (n *Node) Inquire(ctx context.Context, node, typ, hash string) (storage.Definition, error) {
	found, err := n.inquire(ctx, node, typ, hash)
	if err != nil {
		return storage.Definition{}, fmt.Errorf("ask %s about %s: %w", node, typ, err)
	}
	return found, nil
}

func (n *Node) inquire(ctx context.Context, node, typ, hash string) (d storage.Definition, err error) {
	i, err := n.inquirer(node)
	if err != nil {
		return storage.Definition{}, err
	}
	defer func() { err = errors.Join(err, n.leave(node, i)) }()
	select {
	case i.turns <- struct{}{}:
		defer func() { <-i.turns }()
	case <-ctx.Done():
		return storage.Definition{}, ctx.Err()
	}
	response, err := callWhenReady(ctx, i.client, definition.EncodeInquiry(typ, hash))
	if err != nil {
		return storage.Definition{}, err
	}
	described, sources, err := definition.DecodeAnswer(response)
	if err != nil {
		return storage.Definition{}, err
	}
	if described.Type.Name != typ {
		return storage.Definition{}, fmt.Errorf("it describes %.200q", described.Type.Name)
	}
	if len(described.Type.Fields) == 0 { // what rcl tells of a type that has been announced by its name and hash only
		return storage.Definition{}, errors.New("it does not know what the type is made of")
	}
	return definition.FromDescription(described, sources)
}

// inquirer gives the client for a node; leave gives it back.
func (n *Node) inquirer(node string) (*inquirer, error) {
	n.inquirers.mu.Lock()
	defer n.inquirers.mu.Unlock()
	i := n.inquirers.open[node]
	if i == nil {
		client, err := n.CreateClient(node+"/get_type_description", definition.InquiryType, qos.Default())
		if err != nil {
			return nil, err
		}
		i = &inquirer{client: client, turns: make(chan struct{}, questionsAtOnce)}
		if n.inquirers.open == nil {
			n.inquirers.open = map[string]*inquirer{}
		}
		n.inquirers.open[node] = i
	}
	i.users++
	return i, nil
}

// leave closes the client with its last user.
func (n *Node) leave(node string, i *inquirer) error {
	n.inquirers.mu.Lock()
	defer n.inquirers.mu.Unlock()
	if i.users--; i.users > 0 {
		return nil
	}
	delete(n.inquirers.open, node)
	return i.client.Close()
}

// callWhenReady waits for the service first: a request that is sent before is lost.
func callWhenReady(ctx context.Context, client *Client, request []byte) ([]byte, error) {
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
