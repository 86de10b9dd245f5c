package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"rosbagd/msgs"
	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// fakeGraph is a graph that tests change.
type fakeGraph struct {
	mu         sync.Mutex
	types      map[string][]string
	publishers map[string][]node.Endpoint
	listed     int // calls of Publishers
	down       error
	changed    chan struct{}
}

func newFakeGraph() *fakeGraph {
	return &fakeGraph{types: map[string][]string{}, publishers: map[string][]node.Endpoint{}, changed: make(chan struct{}, 1)}
}

// set makes topic exist with one type and these publishers.
func (g *fakeGraph) set(topic, typ string, publishers ...node.Endpoint) {
	g.setTypes(topic, []string{typ}, publishers...)
}

func (g *fakeGraph) setTypes(topic string, types []string, publishers ...node.Endpoint) {
	g.mu.Lock()
	g.types[topic], g.publishers[topic] = types, publishers
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

func (g *fakeGraph) Topics() (map[string][]string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down != nil {
		return nil, g.down
	}
	topics := map[string][]string{}
	for name, types := range g.types {
		topics[name] = types
	}
	return topics, nil
}

func (g *fakeGraph) Publishers(topic string) ([]node.Endpoint, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listed++
	if g.down != nil {
		return nil, g.down
	}
	return slices.Clone(g.publishers[topic]), nil
}

// fail makes all questions fail, or answers them again with nil.
func (g *fakeGraph) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = err
}

func (g *fakeGraph) Changed(ctx context.Context, timeout time.Duration) (bool, error) {
	g.mu.Lock()
	down := g.down
	g.mu.Unlock()
	if down != nil {
		return false, down
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-g.changed:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (g *fakeGraph) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listed
}

// stringHash is the hash of std_msgs/msg/String.
const stringHash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"

// publisher is an endpoint of a class; gid tells it from others.
func publisher(gid byte, reliability qos.Reliability, durability qos.Durability) node.Endpoint {
	return node.Endpoint{
		Type: "std_msgs/msg/String", TypeHash: stringHash, GID: node.GID{gid},
		QoS: qos.Profile{Reliability: reliability, Durability: durability},
	}
}

func volatilePublisher(gid byte) node.Endpoint { return publisher(gid, qos.Reliable, qos.Volatile) }

type madeSubscription struct {
	topic, typ string
	profile    qos.Profile
	ended      bool
}

// fakeSubscriber keeps what was subscribed and gives the batches that tests put in.
type fakeSubscriber struct {
	mu       sync.Mutex
	made     []*madeSubscription // by id - 1
	events   []string
	fail     map[string]error // by topic
	batches  chan *node.Batch
	flush    chan struct{}
	arrived  *node.Batch // what a Flush finds
	released int
	given    int
}

func newFakeSubscriber() *fakeSubscriber {
	return &fakeSubscriber{fail: map[string]error{}, batches: make(chan *node.Batch), flush: make(chan struct{}, 1)}
}

func (s *fakeSubscriber) Subscribe(topic, typ string, profile qos.Profile) (node.SubscriptionID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail[topic]; err != nil {
		return 0, err
	}
	s.made = append(s.made, &madeSubscription{topic: topic, typ: typ, profile: profile})
	s.events = append(s.events, fmt.Sprintf("+%d", len(s.made)))
	return node.SubscriptionID(len(s.made)), nil
}

func (s *fakeSubscriber) Unsubscribe(id node.SubscriptionID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[id-1].ended {
		return errors.New("subscription has ended already")
	}
	s.made[id-1].ended = true
	s.events = append(s.events, fmt.Sprintf("-%d", id))
	return nil
}

func (s *fakeSubscriber) Take(ctx context.Context) (*node.Batch, error) {
	select {
	case b := <-s.batches:
		return b, nil
	case <-s.flush:
		s.mu.Lock()
		defer s.mu.Unlock()
		found := s.arrived
		s.arrived = nil
		return found, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *fakeSubscriber) Flush() {
	select {
	case s.flush <- struct{}{}:
	default:
	}
}

// count is how many subscriptions were made.
func (s *fakeSubscriber) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.made)
}

// history lists what was made (+id) and ended (-id), in order.
func (s *fakeSubscriber) history() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// give delivers messages as one batch and returns when the recorder is at rest. Nothing is told of losses.
func (s *fakeSubscriber) give(messages ...node.Message) { s.deliver(false, nil, messages) }

// tell delivers losses and messages as one batch of a middleware that tells losses.
func (s *fakeSubscriber) tell(losses []node.Loss, messages ...node.Message) {
	s.deliver(true, losses, messages)
}

func (s *fakeSubscriber) deliver(tells bool, losses []node.Loss, messages []node.Message) {
	s.mu.Lock()
	s.given++
	s.mu.Unlock()
	bytes := int64(0)
	for _, m := range messages {
		bytes += int64(len(m.Data))
	}
	batch := node.NewBatch(messages, bytes, func() {
		s.mu.Lock()
		s.released++
		s.mu.Unlock()
	})
	batch.TellsLosses, batch.Losses = tells, losses
	s.batches <- batch
	synctest.Wait()
}

// ids lists the live subscriptions of a topic.
func (s *fakeSubscriber) ids(topic string) []node.SubscriptionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []node.SubscriptionID
	for i, m := range s.made {
		if m.topic == topic && !m.ended {
			ids = append(ids, node.SubscriptionID(i+1))
		}
	}
	return ids
}

// message is number seq of publisher gid, received at seq ms and sent half a millisecond before.
func message(id node.SubscriptionID, gid byte, seq uint64) node.Message {
	received := int64(seq) * int64(time.Millisecond)
	return node.Message{
		Subscription: id, GID: node.GID{gid}, Sequence: seq, Data: []byte(fmt.Sprint(seq)),
		ReceivedNanos: received, SourceNanos: received - int64(time.Millisecond/2),
	}
}

// fakeBag keeps what is written in memory.
type fakeBag struct {
	uri   string
	split func(closed, opened string)

	mu       sync.Mutex
	topics   []storage.Topic
	messages []storage.Message
	custom   map[string]string
	refuse   string // topic that does not fit
	files    int
	sealed   bool
	writeErr error         // given by Write and Seal; by one Write only when it rejects messages
	runErr   chan error    // ends Run
	hold     chan struct{} // when set, Write waits for it
	torn     int           // messages at the end that can not be read after a failure
}

func (b *fakeBag) AddTopic(t storage.Topic) (storage.TopicID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse == t.Name {
		return 0, storage.ErrTopicType
	}
	b.topics = append(b.topics, t)
	return storage.TopicID(len(b.topics) - 1), nil
}

func (b *fakeBag) UpdateTopic(id storage.TopicID, offered []qos.Profile) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.topics[id].OfferedQoS = offered
	return nil
}

func (b *fakeBag) Write(messages []storage.Message) error {
	b.mu.Lock()
	hold := b.hold
	b.mu.Unlock()
	if hold != nil {
		<-hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var rejected *storage.RejectedError
	if b.writeErr != nil && !errors.As(b.writeErr, &rejected) {
		return b.writeErr
	}
	for i, m := range messages {
		if rejected == nil || !slices.Contains(rejected.Indexes, i) {
			m.Data = slices.Clone(m.Data)
			b.messages = append(b.messages, m)
		}
	}
	err := b.writeErr
	b.writeErr = nil
	return err
}

func (b *fakeBag) SetCustomData(key, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.custom[key] = value
}

func (b *fakeBag) Run(ctx context.Context) error {
	select {
	case err := <-b.runErr:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (b *fakeBag) Split() (closed, opened string, err error) {
	b.mu.Lock()
	closed = b.file()
	b.files++
	opened = b.file()
	b.mu.Unlock()
	b.split(closed, opened)
	return closed, opened, nil
}

func (b *fakeBag) Counts() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := make([]uint64, len(b.topics))
	for _, m := range b.messages[:len(b.messages)-b.torn] {
		counts[m.Topic]++
	}
	return counts
}

func (b *fakeBag) CurrentFile() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.file()
}

func (b *fakeBag) file() string { return fmt.Sprintf("%s/%d", b.uri, b.files) }

func (b *fakeBag) Seal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
	return b.writeErr
}

func (b *fakeBag) allTopics() []storage.Topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.topics)
}

func (b *fakeBag) allMessages() []storage.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

func (b *fakeBag) isSealed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sealed
}

// failNext makes Write and Seal fail from now on; an error that rejects messages holds for one Write.
func (b *fakeBag) failNext(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writeErr = err
}

// payloads are the written payloads of a topic in the order of the file.
func (b *fakeBag) payloads(topic string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var data []string
	for _, m := range b.messages {
		if b.topics[m.Topic].Name == topic {
			data = append(data, string(m.Data))
		}
	}
	return data
}

// fakeEvents keeps split events.
type fakeEvents struct {
	mu     sync.Mutex
	splits []msgs.WriteSplitEvent
}

func (e *fakeEvents) WriteSplit(s msgs.WriteSplitEvent) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.splits = append(e.splits, s)
	return nil
}

type noDefinitions struct{}

func (noDefinitions) Definition(typ, _ string) (storage.Definition, error) {
	if typ == "std_msgs/msg/String" {
		return storage.Definition{Encoding: "ros2msg", Text: "string data\n"}, nil
	}
	return storage.Definition{}, errors.New("no such interface is installed")
}
