package player

import (
	"fmt"
	"slices"
	"strings"

	"rosbagd/bag"
	"rosbagd/storage"
)

// Filter selects topics by their recorded names. The lists hold fully qualified names; the expressions are ECMAScript
// and must match the whole name. The zero Filter selects everything.
type Filter struct {
	Topics        []string
	Regex         string
	ExcludeTopics []string
	ExcludeRegex  string
}

type filter struct {
	Filter
	include, exclude bag.Expression
}

// Check says what is wrong with the expressions.
func (f Filter) Check() error {
	_, err := f.compile()
	return err
}

func (f Filter) compile() (*filter, error) {
	include, err := bag.MatchWhole(f.Regex)
	if err != nil {
		return nil, fmt.Errorf("parse topic expression: %w", err)
	}
	exclude, err := bag.MatchWhole(f.ExcludeRegex)
	if err != nil {
		return nil, fmt.Errorf("parse exclude expression: %w", err)
	}
	return &filter{Filter: f, include: include, exclude: exclude}, nil
}

// selects follows the order of rosbag2: exclusions first, then everything if nothing is asked for, then list and
// expression. The lists of topics say nothing about the event topics of services.
func (f *filter) selects(topic storage.Topic) (bool, error) {
	service := isServiceEvent(topic)
	if !service && slices.Contains(f.ExcludeTopics, topic.Name) {
		return false, nil
	}
	if hit, err := f.exclude.Matches(topic.Name); hit || err != nil {
		return false, err
	}
	listed := len(f.Topics) > 0 && !service
	if !listed && f.include.Empty() {
		return true, nil
	}
	if listed && slices.Contains(f.Topics, topic.Name) {
		return true, nil
	}
	return f.include.Matches(topic.Name)
}

func isServiceEvent(topic storage.Topic) bool {
	return strings.HasSuffix(topic.Name, bag.EventSuffix) &&
		strings.Contains(topic.Type, "/srv/") && strings.HasSuffix(topic.Type, "_Event")
}
