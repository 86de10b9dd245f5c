package bag

import (
	"slices"
	"strings"

	"rosbagd/storage"
)

// Selection says which topics an output of Convert gets, as the record options of rosbag2 do: lists, types and
// expression are alternatives, and exclusions win over them. The zero Selection takes none.
type Selection struct {
	AllTopics, AllServices, AllActions bool

	Topics, TopicTypes               []string // full names
	ExcludeTopics, ExcludeTopicTypes []string
	// Services are named by the service or by its event topic.
	Services, ExcludeServices []string
	Actions, ExcludeActions   []string

	// Regex and ExcludeRegex are about the name of a topic, service or action.
	Regex, ExcludeRegex Expression
	// IncludeHidden: topics with a token that begins with an underscore too. Those of services and actions, all of which
	// have one, need it not.
	IncludeHidden bool
}

// Everything selects all topics.
func Everything() Selection {
	return Selection{AllTopics: true, AllServices: true, AllActions: true, IncludeHidden: true}
}

// Empty says whether nothing is asked for, whatever the topics are.
func (s *Selection) Empty() bool {
	return !s.AllTopics && !s.AllServices && !s.AllActions && len(s.Topics) == 0 && len(s.TopicTypes) == 0 &&
		len(s.Services) == 0 && len(s.Actions) == 0 && s.Regex.Empty()
}

// verdict is what a Selection says about a topic.
type verdict int

const (
	left verdict = iota
	taken
	hidden // selected, but for its hidden name
)

// judge follows the order of rosbag2.
func (s *Selection) judge(topic storage.Topic) (verdict, error) {
	switch kind, owner := KindOf(topic.Name, topic.Type); kind {
	case ServiceTopic:
		return s.judgeOwned(owner, s.AllServices, services(s.Services), services(s.ExcludeServices))
	case ActionTopic:
		return s.judgeOwned(owner, s.AllActions, s.Actions, s.ExcludeActions)
	}
	listed := s.AllTopics || slices.Contains(s.Topics, topic.Name) || slices.Contains(s.TopicTypes, topic.Type)
	if slices.Contains(s.ExcludeTopicTypes, topic.Type) {
		return left, nil
	}
	v, err := s.settle(topic.Name, listed, s.ExcludeTopics)
	if v == taken && IsHidden(topic.Name) && !s.IncludeHidden {
		return hidden, err
	}
	return v, err
}

func (s *Selection) judgeOwned(owner string, all bool, list, excluded []string) (verdict, error) {
	return s.settle(owner, all || slices.Contains(list, owner), excluded)
}

// settle looks at the expressions and the list of exclusions.
func (s *Selection) settle(name string, listed bool, excluded []string) (verdict, error) {
	if !listed {
		if hit, err := s.Regex.Matches(name); !hit || err != nil {
			return left, err
		}
	}
	if slices.Contains(excluded, name) {
		return left, nil
	}
	if hit, err := s.ExcludeRegex.Matches(name); hit || err != nil {
		return left, err
	}
	return taken, nil
}

// services makes names of services of those of their event topics.
func services(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.TrimSuffix(name, EventSuffix)
	}
	return out
}
