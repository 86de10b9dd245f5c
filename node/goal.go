package node

import "fmt"

// GoalID identifies a goal of an action; it is chosen by the client.
type GoalID [16]byte

// goalIDAt is where every request of an action, and its feedback, has the goal: first thing behind the encapsulation
// header of CDR.
const goalIDAt = 4

// GoalOf is the goal of a serialized request to the goal, result or cancel service of an action. A cancel request may
// hold no goal but zeros, which means all of them.
func GoalOf(request []byte) (GoalID, error) {
	var id GoalID
	if len(request) < goalIDAt+len(id) {
		return id, fmt.Errorf("read goal: %d bytes are too few for a request of an action", len(request))
	}
	copy(id[:], request[goalIDAt:])
	return id, nil
}
