package recorder

import (
	"slices"

	"rosbagd/bag"
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
	case bag.ActionTopic:
		if !f.AllActions {
			return NotSelected
		}
	case bag.ServiceTopic:
		if !f.AllServices {
			return NotSelected
		}
	default:
		if !f.AllTopics && !slices.Contains(f.Topics, name) {
			return NotSelected
		}
		if bag.IsHidden(name) && !f.IncludeHidden {
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

// kindOf tells what a topic belongs to by the first of its types that tells.
func kindOf(name string, types []string) bag.TopicKind {
	for _, typ := range types {
		if kind, _ := bag.KindOf(name, typ); kind != bag.PlainTopic {
			return kind
		}
	}
	return bag.PlainTopic
}
