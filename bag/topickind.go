package bag

import "strings"

// TopicKind is what a topic belongs to.
type TopicKind int

// The kinds of topics.
const (
	PlainTopic TopicKind = iota
	ServiceTopic
	ActionTopic
)

// EventSuffix ends the name of the topic with the events of a service.
const EventSuffix = "/_service_event"

// KindOf tells by the ends of the name and of the type what a topic belongs to; both must match. owner is the name of
// the service or action, and empty for a plain topic.
func KindOf(name, typ string) (kind TopicKind, owner string) {
	for _, a := range [...]struct{ name, infix, typ string }{
		{"/_action/send_goal" + EventSuffix, "/action/", "_SendGoal_Event"},
		{"/_action/get_result" + EventSuffix, "/action/", "_GetResult_Event"},
		{"/_action/cancel_goal" + EventSuffix, "", "action_msgs/srv/CancelGoal_Event"},
		{"/_action/feedback", "/action/", "_FeedbackMessage"},
		{"/_action/status", "", "action_msgs/msg/GoalStatusArray"},
	} {
		owner, found := strings.CutSuffix(name, a.name)
		if found && strings.Contains(typ, a.infix) && strings.HasSuffix(typ, a.typ) {
			return ActionTopic, owner
		}
	}
	owner, found := strings.CutSuffix(name, EventSuffix)
	if found && strings.Contains(typ, "/srv/") && strings.HasSuffix(typ, "_Event") {
		return ServiceTopic, owner
	}
	return PlainTopic, ""
}

// IsHidden says whether a token of the name starts with an underscore.
func IsHidden(name string) bool { return strings.Contains(name, "/_") }
