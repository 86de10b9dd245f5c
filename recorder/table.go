package recorder

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// topic is a recorded topic of one bag.
type topic struct {
	name, typ string
	counters  counters

	// compare is set before the topic gets a second subscription, for good: messages may come twice from then on.
	compare atomic.Bool

	// Of the taking goroutine: publishers, subscriptions that have given something, and whether losses are to be settled.
	streams   streams
	sources   []*source
	unsettled bool

	// Of the writing goroutine: the topic in the bag, once it is there, and whether a message of it was rejected.
	id       storage.TopicID
	inBag    bool
	rejected bool
}

// table knows which topic a subscription belongs to. Ids stay known after their end, for the messages under way.
type table struct {
	subscriber Subscriber

	// mu is held from before a subscription is made until it is in byID: whoever meets an unknown id waits for it.
	mu   sync.Mutex
	byID atomic.Pointer[map[node.SubscriptionID]*source] // replaced under mu, never changed
	live map[node.SubscriptionID]bool                    // guarded by mu

	topicsMu sync.Mutex
	topics   []*topic // guarded by topicsMu
}

func newTable(s Subscriber) *table {
	t := &table{subscriber: s, live: map[node.SubscriptionID]bool{}}
	t.byID.Store(&map[node.SubscriptionID]*source{})
	return t
}

// subscribe adds a subscription of tp; added runs before any of its messages can be found.
func (t *table) subscribe(tp *topic, profile qos.Profile, added func()) (*source, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, err := t.subscriber.Subscribe(tp.name, tp.typ, profile)
	if err != nil {
		return nil, err
	}
	added()
	old := *t.byID.Load()
	next := make(map[node.SubscriptionID]*source, len(old)+1)
	for k, v := range old {
		next[k] = v
	}
	made := &source{topic: tp, id: id, rank: classOf(profile).rank()}
	next[id] = made
	t.byID.Store(&next)
	t.live[id] = true
	return made, nil
}

func (t *table) unsubscribe(id node.SubscriptionID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, id)
	return t.subscriber.Unsubscribe(id)
}

func (t *table) unsubscribeAll() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for id := range t.live {
		if err := t.subscriber.Unsubscribe(id); err != nil {
			errs = append(errs, fmt.Errorf("end subscription: %w", err))
		}
	}
	clear(t.live)
	return errors.Join(errs...)
}

// find gives the source of a subscription, nil for one of an earlier bag.
func (t *table) find(id node.SubscriptionID) *source {
	if found := (*t.byID.Load())[id]; found != nil {
		return found
	}
	t.mu.Lock() // it may just be in the making
	defer t.mu.Unlock()
	return (*t.byID.Load())[id]
}

// topicOf gives the topic of a subscription, nil for one of an earlier bag.
func (t *table) topicOf(id node.SubscriptionID) *topic {
	if found := t.find(id); found != nil {
		return found.topic
	}
	return nil
}

func (t *table) add(tp *topic) {
	t.topicsMu.Lock()
	defer t.topicsMu.Unlock()
	t.topics = append(t.topics, tp)
}

func (t *table) all() []*topic {
	t.topicsMu.Lock()
	defer t.topicsMu.Unlock()
	return slices.Clone(t.topics)
}

func (t *table) stats() []TopicStats {
	topics := t.all()
	stats := make([]TopicStats, len(topics))
	for i, tp := range topics {
		stats[i] = tp.counters.stats(tp.name, tp.typ)
	}
	return stats
}
