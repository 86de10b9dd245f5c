package recorder

import (
	"slices"
	"strings"
)

// Filter says which topics are recorded. The zero Filter takes none.
type Filter struct {
	Topics        []string // full names
	AllTopics     bool     // all but the topics of services and actions
	AllServices   bool     // the events of all services
	AllActions    bool     // the five topics of all actions
	IncludeHidden bool     // hidden topics too, even those in Topics need it
}

// Verdict is what a Filter says about a topic.
type Verdict int

// The verdicts. All but Selected mean that the topic is not recorded.
const (
	NotSelected Verdict = iota
	Selected
	Hidden       // selected but for its hidden name
	SeveralTypes // selected, but its nodes do not agree on a type
)

// Select judges a topic of the graph by its name and types. It has no memory: a topic gets the same verdict each time.
func (f Filter) Select(name string, types []string) Verdict {
	if len(types) == 0 {
		return NotSelected
	}
	switch kindOf(name, types) {
	case actionTopic:
		if !f.AllActions {
			return NotSelected
		}
	case serviceTopic:
		if !f.AllServices {
			return NotSelected
		}
	default:
		if !f.AllTopics && !slices.Contains(f.Topics, name) {
			return NotSelected
		}
		if isHidden(name) && !f.IncludeHidden {
			return Hidden
		}
	}
	if len(types) > 1 {
		return SeveralTypes
	}
	return Selected
}

// namesOnly says whether the filter can be satisfied for good: it asks for topics by name and nothing else.
func (f Filter) namesOnly() bool {
	return len(f.Topics) > 0 && !f.AllTopics && !f.AllServices && !f.AllActions
}

// kind is what a topic belongs to.
type kind int

const (
	plainTopic kind = iota
	serviceTopic
	actionTopic
)

const eventSuffix = "/_service_event"

// kindOf tells by the ends of the name and of the type what a topic belongs to; both must match.
func kindOf(name string, types []string) kind {
	for _, typ := range types {
		if isActionTopic(name, typ) {
			return actionTopic
		}
		if strings.HasSuffix(name, eventSuffix) && strings.Contains(typ, "/srv/") && strings.HasSuffix(typ, "_Event") {
			return serviceTopic
		}
	}
	return plainTopic
}

func isActionTopic(name, typ string) bool {
	for _, a := range [...]struct{ name, infix, typ string }{
		{"/_action/send_goal" + eventSuffix, "/action/", "_SendGoal_Event"},
		{"/_action/get_result" + eventSuffix, "/action/", "_GetResult_Event"},
		{"/_action/cancel_goal" + eventSuffix, "", "action_msgs/srv/CancelGoal_Event"},
		{"/_action/feedback", "/action/", "_FeedbackMessage"},
		{"/_action/status", "", "action_msgs/msg/GoalStatusArray"},
	} {
		if strings.HasSuffix(name, a.name) && strings.Contains(typ, a.infix) && strings.HasSuffix(typ, a.typ) {
			return true
		}
	}
	return false
}
