package bag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rosbagd/storage"
)

// Sort is the order of topics, services and actions in an Info.
type Sort string

// The orders; the empty one is SortName.
const (
	SortName  Sort = "name"
	SortType  Sort = "type"
	SortCount Sort = "count"
)

// Info is what "info" shows of a bag.
type Info struct {
	Metadata Metadata
	Size     int64       // of all files, in bytes
	Topics   []InfoTopic // neither of a service nor of an action
	Services []InfoService
	Actions  []InfoAction
	// Losses are what a recorder of this program noted of its losses, by topic. They are known when they are not nil.
	Losses []Loss
	// Measured says that all messages were read, and Usage is set.
	Measured bool
}

// InfoTopic is a topic as "info" shows it.
type InfoTopic struct {
	Name, Type, SerializationFormat string
	Count                           uint64 // messages as the metadata tells
	Usage                           Usage
}

// InfoService is a service whose events were recorded. Count is the number of events.
type InfoService struct {
	InfoTopic        // Name and Type are the service's own
	Topic     string // of the events
}

// InfoAction is an action, of which up to five topics were recorded. What was not recorded has neither Topic nor Count.
type InfoAction struct {
	Name, SerializationFormat string
	Type                      string // pkg/action/Name, empty when no topic tells it
	Feedback, Status          InfoTopic
	SendGoal                  InfoService
	CancelGoal                InfoService
	GetResult                 InfoService
}

// Count is the number of messages on all topics of the action.
func (a InfoAction) Count() uint64 {
	return a.Feedback.Count + a.Status.Count + a.SendGoal.Count + a.CancelGoal.Count + a.GetResult.Count
}

// Describe says what is in a bag. With measure it reads all messages; damaged parts are noted by the Reader and left
// out. Without it nothing is read.
func Describe(r *Reader, measure bool, by Sort) (*Info, error) {
	info := &Info{Metadata: r.Metadata(), Size: r.Size(), Measured: measure}
	var usages []Usage
	if measure {
		var err error
		if usages, err = r.measure(); err != nil {
			return nil, fmt.Errorf("read bag: %w", err)
		}
	}
	actions := map[string]int{}
	for i, topic := range r.Topics() {
		shown := InfoTopic{Name: topic.Name, Type: topic.Type, SerializationFormat: topic.SerializationFormat, Count: topic.MessageCount}
		if i < len(usages) {
			shown.Usage = usages[i]
		}
		kind, owner := KindOf(topic.Name, topic.Type)
		switch kind {
		case ServiceTopic:
			info.Services = append(info.Services, serviceOf(shown, owner))
		case ActionTopic:
			at, ok := actions[owner]
			if !ok {
				at = len(info.Actions)
				actions[owner] = at
				info.Actions = append(info.Actions, InfoAction{Name: owner, SerializationFormat: topic.SerializationFormat})
			}
			if !info.Actions[at].take(shown) { // a second topic of that name and another type
				info.Topics = append(info.Topics, shown)
			}
		default:
			info.Topics = append(info.Topics, shown)
		}
	}
	info.Losses = lossesOf(info.Metadata.CustomData)
	info.sort(by)
	return info, nil
}

// Messages is the number of messages that are neither service events nor of actions, as rosbag2 shows it.
func (info *Info) Messages() uint64 {
	messages := info.Metadata.MessageCount
	for _, service := range info.Services {
		messages -= min(messages, service.Count)
	}
	for _, action := range info.Actions {
		messages -= min(messages, action.Count())
	}
	return messages
}

func serviceOf(topic InfoTopic, name string) InfoService {
	service := InfoService{InfoTopic: topic, Topic: topic.Name}
	service.Name = name
	service.Type = strings.TrimSuffix(topic.Type, "_Event")
	return service
}

// take puts a topic in its place; false when the place is taken.
func (a *InfoAction) take(topic InfoTopic) bool {
	part := strings.TrimPrefix(topic.Name, a.Name+"/_action/")
	service := func(place *InfoService) bool {
		if place.Topic != "" {
			return false
		}
		*place = serviceOf(topic, strings.TrimSuffix(topic.Name, EventSuffix))
		return true
	}
	known := false
	switch strings.TrimSuffix(part, EventSuffix) {
	case "feedback":
		if known = a.Feedback.Name == ""; known {
			a.Feedback = topic
		}
	case "status":
		if known = a.Status.Name == ""; known {
			a.Status = topic
		}
	case "send_goal":
		known = service(&a.SendGoal)
	case "cancel_goal":
		known = service(&a.CancelGoal)
	case "get_result":
		known = service(&a.GetResult)
	}
	if known && a.Type == "" {
		for _, suffix := range []string{"_FeedbackMessage", "_SendGoal_Event", "_GetResult_Event"} {
			if typ, ok := strings.CutSuffix(topic.Type, suffix); ok {
				a.Type = typ
			}
		}
	}
	return known
}

func (info *Info) sort(by Sort) {
	order := func(nameA, nameB, typeA, typeB string, countA, countB uint64) int {
		switch by {
		case SortType:
			return cmp.Or(cmp.Compare(typeA, typeB), cmp.Compare(nameA, nameB))
		case SortCount:
			return cmp.Or(cmp.Compare(countA, countB), cmp.Compare(nameA, nameB))
		default:
			return cmp.Compare(nameA, nameB)
		}
	}
	slices.SortStableFunc(info.Topics, func(a, b InfoTopic) int {
		return order(a.Name, b.Name, a.Type, b.Type, a.Count, b.Count)
	})
	slices.SortStableFunc(info.Services, func(a, b InfoService) int {
		return order(a.Name, b.Name, a.Type, b.Type, a.Count, b.Count)
	})
	slices.SortStableFunc(info.Actions, func(a, b InfoAction) int {
		return order(a.Name, b.Name, a.Type, b.Type, a.Count(), b.Count())
	})
}

// measure reads the whole bag. Damaged parts are noted and left out.
func (r *Reader) measure() ([]Usage, error) {
	it, err := r.Messages(Query{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	m := measurer{calls: newCallLimit()}
	for {
		message, err := it.Next()
		switch {
		case errors.Is(err, io.EOF):
			if m.calls.exceeded {
				r.addNote("%s: too many clients called services to tell them all apart: requests and responses are at least these", r.path)
			}
			return m.usages, nil
		case storage.IsCorruption(err):
			r.addNote("%v", err)
			continue
		case err != nil:
			return nil, err
		}
		if int(message.Topic) >= len(m.usages) {
			m.grow(r.Topics())
		}
		m.add(message)
	}
}
