package player

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"

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
	include, exclude *regexp2.Regexp
}

// Check says what is wrong with the expressions.
func (f Filter) Check() error {
	_, err := f.compile()
	return err
}

func (f Filter) compile() (*filter, error) {
	include, err := compileWhole(f.Regex)
	if err != nil {
		return nil, fmt.Errorf("parse topic expression: %w", err)
	}
	exclude, err := compileWhole(f.ExcludeRegex)
	if err != nil {
		return nil, fmt.Errorf("parse exclude expression: %w", err)
	}
	return &filter{Filter: f, include: include, exclude: exclude}, nil
}

// compileWhole gives nil for an empty expression. The expression is tried alone first: wrapped, an unbalanced one
// could become a sound one.
func compileWhole(expression string) (*regexp2.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	if _, err := regexp2.Compile(expression, regexp2.ECMAScript); err != nil {
		return nil, err
	}
	return regexp2.Compile("^(?:"+expression+")$", regexp2.ECMAScript)
}

// selects follows the order of rosbag2: exclusions first, then everything if nothing is asked for, then list and
// expression. The lists of topics say nothing about the event topics of services.
func (f *filter) selects(topic storage.Topic) (bool, error) {
	service := isServiceEvent(topic)
	if !service && slices.Contains(f.ExcludeTopics, topic.Name) {
		return false, nil
	}
	if hit, err := matches(f.exclude, topic.Name); hit || err != nil {
		return false, err
	}
	listed := len(f.Topics) > 0 && !service
	if !listed && f.include == nil {
		return true, nil
	}
	if listed && slices.Contains(f.Topics, topic.Name) {
		return true, nil
	}
	return matches(f.include, topic.Name)
}

func matches(expression *regexp2.Regexp, name string) (bool, error) {
	if expression == nil {
		return false, nil
	}
	hit, err := expression.MatchString(name)
	if err != nil {
		return false, fmt.Errorf("match topic %s: %w", name, err)
	}
	return hit, nil
}

func isServiceEvent(topic storage.Topic) bool {
	return strings.HasSuffix(topic.Name, "/_service_event") &&
		strings.Contains(topic.Type, "/srv/") && strings.HasSuffix(topic.Type, "_Event")
}
