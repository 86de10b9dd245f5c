package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"rosbagd/clock"
	"rosbagd/msgs"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// bagStart is where the bags of these tests begin; message times are given from there.
const bagStart = clock.Time(1_700_000_000_000_000_000)

const ms = time.Millisecond

// recorded is a message of a bag in memory. Its payload is its text.
type recorded struct {
	topic storage.TopicID
	at    time.Duration
	text  string
	err   error  // given in place of the message
	file  string // that it is in
}

// memoryBag is a Source. gate, if not nil, must give something before each message but the first open ones.
type memoryBag struct {
	topics   []storage.TopicInfo
	messages []recorded
	gate     chan struct{}
	open     int // messages that pass the gate freely
	openErr  error

	mu   sync.Mutex
	read int // messages given so far
}

// evenBag has count messages on /a, one each interval, with their numbers as texts.
func evenBag(count int, interval time.Duration) *memoryBag {
	bag := &memoryBag{topics: []storage.TopicInfo{topic("/a")}}
	for i := range count {
		bag.messages = append(bag.messages, recorded{at: time.Duration(i) * interval, text: fmt.Sprint(i)})
	}
	return bag
}

func topic(name string, offers ...qos.Profile) storage.TopicInfo {
	return storage.TopicInfo{Topic: storage.Topic{Name: name, Type: "std_msgs/msg/String", OfferedQoS: offers}}
}

func latchedProfile() qos.Profile {
	profile := qos.Default()
	profile.Durability = qos.TransientLocal
	return profile
}

func (b *memoryBag) Topics() []storage.TopicInfo { return b.topics }

func (b *memoryBag) Size() int64 { return 0 }

func (b *memoryBag) Start() clock.Time {
	if len(b.messages) == 0 {
		return 0
	}
	return bagStart
}

func (b *memoryBag) Messages(query storage.Query, onFile func(string)) (storage.Iterator, error) {
	if b.openErr != nil {
		return nil, b.openErr
	}
	return &memoryIterator{bag: b, query: query, onFile: onFile}, nil
}

func (b *memoryBag) given() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

type memoryIterator struct {
	bag    *memoryBag
	query  storage.Query
	onFile func(string)
	next   int
	file   string
}

func (it *memoryIterator) Next() (storage.Message, error) {
	for it.next < len(it.bag.messages) {
		m := it.bag.messages[it.next]
		it.next++
		at := int64(bagStart.Add(m.at))
		wanted := at >= it.query.FromNanos && (!it.query.HasUntil || at <= it.query.UntilNanos)
		if m.err != nil && wanted {
			return storage.Message{}, m.err
		}
		if !wanted || !contains(it.query.Topics, m.topic) {
			continue
		}
		if it.bag.gate != nil && it.next > it.bag.open {
			<-it.bag.gate
		}
		it.bag.mu.Lock()
		it.bag.read++
		it.bag.mu.Unlock()
		if it.file != m.file {
			it.file = m.file
			it.onFile(m.file)
		}
		return storage.Message{Topic: m.topic, LogTimeNanos: at, PublishTimeNanos: at, Data: []byte(m.text)}, nil
	}
	return storage.Message{}, io.EOF
}

func (it *memoryIterator) Close() error { return nil }

func contains(ids []storage.TopicID, id storage.TopicID) bool {
	for _, other := range ids {
		if other == id {
			return true
		}
	}
	return ids == nil
}

// stage is a player under test with everything around it.
type stage struct {
	t      *testing.T
	player *Player
	logs   *observer.ObservedLogs
	begin  time.Time
	cancel context.CancelFunc
	result chan error

	mu       sync.Mutex
	heard    []string // "text" or "topic:text" of what was published, in order
	walls    []time.Duration
	clocks   []time.Duration // what /clock showed, from the start of the bag
	profiles map[string]qos.Profile
	closed   int
	acked    int // publishers that were asked to wait for their last messages
	handlers map[string]func(any, func(any))
	splits   []string

	refuse  map[string]error // CreatePublisher, by topic
	deaf    bool             // no subscription ever has the last messages
	publish func(text string) error
}

func (s *stage) CreatePublisher(topic, _ string, profile qos.Profile) (Publisher, error) {
	if err := s.refuse[topic]; err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles[topic] = profile
	return &stagePublisher{s}, nil
}

type stagePublisher struct{ *stage }

func (s *stagePublisher) Publish(data []byte) error {
	if s.publish != nil {
		if err := s.publish(string(data)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, string(data))
	s.walls = append(s.walls, time.Since(s.begin))
	return nil
}

func (s *stagePublisher) WaitAcked(timeout time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed > 0 {
		return false, errors.New("publisher is closed already")
	}
	s.acked++
	if s.deaf {
		<-time.After(timeout)
	}
	return !s.deaf, nil
}

func (s *stagePublisher) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *stage) ReadSplit(closedFile, openedFile string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.splits = append(s.splits, closedFile+">"+openedFile)
}

func (s *stage) Handle(name string, _ msgs.Service, handler func(any, func(any))) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[name] = handler
	return nil
}

func (s *stage) showClock(now clock.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clocks = append(s.clocks, now.Sub(bagStart))
	return nil
}

// prepare makes a player that does not run yet; in a synctest bubble.
func prepare(t *testing.T, bag Source, options Options) *stage {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	s := &stage{
		t: t, logs: logs, begin: time.Now(), result: make(chan error, 1),
		profiles: map[string]qos.Profile{}, handlers: map[string]func(any, func(any)){}, refuse: map[string]error{},
	}
	options.Logger = zap.New(core)
	options.Steady = clock.TimerSteady()
	player, err := New(bag, Connections{Publishers: s, Clock: s.showClock, Events: s}, options)
	require.NoError(t, err)
	require.NoError(t, player.Serve(s))
	s.player = player
	return s
}

// run starts the player and waits until it has nothing to do at this instant.
func (s *stage) run() *stage {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	s.t.Cleanup(cancel)
	go func() { s.result <- s.player.Run(ctx) }()
	synctest.Wait()
	return s
}

// raise is prepare and run.
func raise(t *testing.T, bag Source, options Options) *stage {
	t.Helper()
	return prepare(t, bag, options).run()
}

// pass lets time go by, exactly.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// since gives what was published since the last call.
func (s *stage) since() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := s.heard
	s.heard = nil
	return heard
}

func (s *stage) seen() []time.Duration {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), s.clocks...)
}

// over requires that the player has ended by now.
func (s *stage) over() error {
	s.t.Helper()
	synctest.Wait()
	select {
	case err := <-s.result:
		return err
	default:
		require.Fail(s.t, "the player still runs")
		return nil
	}
}

func (s *stage) alive() {
	s.t.Helper()
	synctest.Wait()
	require.Empty(s.t, s.result, "the player has ended")
}

// quit ends the player and requires that it takes no time.
func (s *stage) quit() {
	s.t.Helper()
	s.cancel()
	require.NoError(s.t, s.over())
	require.Len(s.t, s.profiles, s.closed, "publishers left behind")
}

func (s *stage) logged(message string) int { return s.logs.FilterMessage(message).Len() }

var errTest = errors.New("test fault")
