//go:build ros

package node

import (
	"context"
	"errors"
	"fmt"

	"rosbagd/storage/qos"
)

// acceptedAt is where the response to a goal request says whether it was accepted, in CDR.
const acceptedAt = 4

// ActionClient sends serialized requests to the three services of an action. It follows no goal: it sends what it is
// given, and the requests themselves say which goal they are about (GoalOf).
type ActionClient struct {
	node   *Node
	name   string
	typ    string
	goal   *Client
	result *Client
	cancel *Client
}

// CreateActionClient adds a client of any installed action type, "pkg/action/Name". An error that wraps
// ErrNotInstalled means that its package is not on this machine. name is expanded and remapped like any name of the
// node.
func (n *Node) CreateActionClient(name, typ string) (*ActionClient, error) {
	if parts, err := ParseTypeName(typ); err != nil {
		return nil, err
	} else if parts.Kind != "action" {
		return nil, fmt.Errorf("type %s is not an action", typ)
	}
	a := &ActionClient{node: n, name: name, typ: typ}
	for _, service := range []struct {
		client     **Client
		name, kind string
	}{
		{&a.goal, "send_goal", typ + "_SendGoal"},
		{&a.result, "get_result", typ + "_GetResult"},
		{&a.cancel, "cancel_goal", "action_msgs/srv/CancelGoal"},
	} {
		client, err := n.CreateClient(name+"/_action/"+service.name, service.kind, qos.Default())
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		*service.client = client
	}
	return a, nil
}

// Subscribe subscribes to the feedback and the status of the action; the messages come out of Take. They are of the
// types "pkg/action/Name_FeedbackMessage" and "action_msgs/msg/GoalStatusArray".
func (a *ActionClient) Subscribe() (feedback, status SubscriptionID, err error) {
	feedback, err = a.node.Subscribe(a.name+"/_action/feedback", a.typ+"_FeedbackMessage", qos.Default())
	if err != nil {
		return 0, 0, err
	}
	latched := qos.Default()
	latched.Depth, latched.Durability = 1, qos.TransientLocal
	status, err = a.node.Subscribe(a.name+"/_action/status", "action_msgs/msg/GoalStatusArray", latched)
	if err != nil {
		return 0, 0, errors.Join(err, a.node.Unsubscribe(feedback))
	}
	return feedback, status, nil
}

// Ready says whether a server is there with all three services.
func (a *ActionClient) Ready() (bool, error) {
	for _, client := range a.clients() {
		if ready, err := client.Ready(); err != nil || !ready {
			return false, err
		}
	}
	return true, nil
}

// SendGoal sends a request of the goal service and says whether the server accepted the goal. Requests about a goal
// make sense only after that.
func (a *ActionClient) SendGoal(ctx context.Context, request []byte) (accepted bool, err error) {
	response, err := a.goal.Call(ctx, request)
	if err != nil {
		return false, err
	}
	return len(response) > acceptedAt && response[acceptedAt] != 0, nil
}

// Result sends a request of the result service and waits for the response, which comes when the goal has ended.
func (a *ActionClient) Result(ctx context.Context, request []byte) (response []byte, err error) {
	return a.result.Call(ctx, request)
}

// Cancel sends a request of the cancel service and waits for the response.
func (a *ActionClient) Cancel(ctx context.Context, request []byte) (response []byte, err error) {
	return a.cancel.Call(ctx, request)
}

// Close removes the clients; calls that are under way end with ErrClosed. A second Close does nothing. What Subscribe
// made is ended by Unsubscribe.
func (a *ActionClient) Close() error {
	var errs []error
	for _, client := range a.clients() {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// clients are those that are there: CreateActionClient may fail halfway.
func (a *ActionClient) clients() []*Client {
	var there []*Client
	for _, client := range []*Client{a.goal, a.result, a.cancel} {
		if client != nil {
			there = append(there, client)
		}
	}
	return there
}
