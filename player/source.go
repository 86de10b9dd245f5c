package player

import (
	"time"

	"rosbagd/bag"
	"rosbagd/clock"
	"rosbagd/msgs"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Source is a bag. One goroutine calls Messages, and closes each iterator before it asks for the next; a topic's id is
// its position in Topics.
type Source interface {
	Topics() []storage.TopicInfo
	// Start is the time of the first message, and zero for a bag without one.
	Start() clock.Time
	// Size is the size of all files, in bytes.
	Size() int64
	// Messages calls onFile, within Next, when it goes on to another file of the bag.
	Messages(query storage.Query, onFile func(opened string)) (storage.Iterator, error)
}

// FromBag makes a Source of an open bag, which stays the caller's to close.
func FromBag(reader *bag.Reader) Source { return bagSource{reader} }

type bagSource struct{ *bag.Reader }

func (s bagSource) Start() clock.Time { return clock.Time(s.Metadata().StartNanos) }

func (s bagSource) Messages(query storage.Query, onFile func(opened string)) (storage.Iterator, error) {
	return s.Reader.Messages(bag.Query{Query: query, OnFile: func(_, opened string) { onFile(opened) }})
}

// PublisherFactory makes publishers. An error means that the topic can not be played.
type PublisherFactory interface {
	CreatePublisher(topic, typ string, profile qos.Profile) (Publisher, error)
}

// Publisher publishes serialized messages. It must not change data nor use it after Publish has returned.
type Publisher interface {
	Publish(data []byte) error
	// WaitAcked waits until all reliable subscriptions have what was published, for timeout at most, and says whether.
	WaitAcked(timeout time.Duration) (bool, error)
	Close() error
}

// Events is told what others may want to know. Its methods must not block.
type Events interface {
	ReadSplit(closedFile, openedFile string)
}

// ServiceHost offers services under a name that may begin with "~". The handler does not block; reply may be called
// later and from any goroutine, once for each request.
type ServiceHost interface {
	Handle(name string, service msgs.Service, handler func(request any, reply func(response any))) error
}

// Connections are what a Player is connected to; only Publishers is needed.
type Connections struct {
	Publishers PublisherFactory
	Clock      func(clock.Time) error // publishes /clock; it must not block for long
	Events     Events
}
