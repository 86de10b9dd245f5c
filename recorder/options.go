package recorder

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"rosbagd/msgs"
	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Graph shows the topics and publishers around.
type Graph interface {
	// Topics lists all topics with their types.
	Topics() (map[string][]string, error)
	// Publishers lists the publishers of a topic.
	Publishers(topic string) ([]node.Endpoint, error)
	// Changed waits until the graph has changed since the last call and says so, for timeout at most; or it returns
	// ctx's error.
	Changed(ctx context.Context, timeout time.Duration) (bool, error)
}

// Subscriber makes serialized subscriptions and takes their messages.
type Subscriber interface {
	// Subscribe fails with an error that wraps node.ErrNotInstalled when the type is not known on this machine, and the
	// middleware does not work without.
	Subscribe(topic, typ string, profile qos.Profile) (node.SubscriptionID, error)
	Unsubscribe(id node.SubscriptionID) error
	// Take waits for messages of all subscriptions. It returns ctx's error when ctx ends.
	Take(ctx context.Context) (*node.Batch, error)
	// Flush makes Take return once more even without a message: with what has arrived until now, or with nil.
	Flush()
}

// Definitions finds the text of a type on this machine: of several, the first that has the hash, and else the first.
type Definitions interface {
	Definition(typ, hash string) (storage.Definition, error)
}

// Types is told what is known of a type before it is subscribed. An error means that it is announced without its
// definition.
type Types interface {
	Describe(node.Type) error
}

// Inquirer asks a node, by its full name, for the definition of a type that it publishes with this hash. It is called
// from several goroutines, and returns an error once ctx ends.
type Inquirer interface {
	Inquire(ctx context.Context, node, typ, hash string) (storage.Definition, error)
}

// Events is told what other nodes may want to know. It must not block.
type Events interface {
	WriteSplit(msgs.WriteSplitEvent) error
}

// ServiceHost offers services. A handler must not block; reply may be called later, from any goroutine, once.
type ServiceHost interface {
	Handle(name string, srv msgs.Service, handler func(request any, reply func(response any))) error
}

// Options are the settings of a Recorder. Zero values are defaults where one is named.
type Options struct {
	NodeName string // fully qualified, for events

	// URI is the directory of a bag for which none is given; empty is a dated name below the working directory.
	URI string
	// RecordAtStart makes Run begin to record to URI, and fail when it can not.
	RecordAtStart bool
	// EndOnFailure makes Run end, with the reason, when a bag fails. Without it the services stay, and all messages
	// count as dropped until the next Stop and Record.
	EndOnFailure bool
	// StartPaused is the state of pause when a bag begins.
	StartPaused bool
	// UseSimTime stamps what is received with the time that /clock tells, and begins when it has told one.
	UseSimTime bool

	Filter              Filter
	NoDiscovery         bool                   // look for topics once, when a bag begins
	PollingInterval     time.Duration          // longest time between two looks for retries and offers; 0 is 100 ms
	Depth               int                    // history of subscriptions at most; 0 is DefaultDepth, at most MaxDepth
	HistoryBytes        int64                  // of one subscription, unless publishers keep more; 0 is DefaultHistoryBytes
	QoSOverrides        map[string]qos.Profile // by topic, used as they are
	SerializationFormat string                 // empty is "cdr"

	// MaxCacheSize bounds the memory of messages that wait to be written or are being written; 0 is a cache of 1 MiB.
	MaxCacheSize int64
}

// DefaultMaxCacheSize is rosbag2's default for MaxCacheSize.
const DefaultMaxCacheSize = 100 << 20

// Environment is what a Recorder works on. Events, Definitions, Types, Inquirer and Logger may be nil.
type Environment struct {
	Graph       Graph
	Subscriber  Subscriber
	Bags        BagFactory
	Events      Events
	Definitions Definitions
	Types       Types
	Inquirer    Inquirer
	Logger      *zap.Logger
}

func (o Options) withDefaults() Options {
	if o.PollingInterval <= 0 {
		o.PollingInterval = 100 * time.Millisecond
	}
	if o.Depth <= 0 {
		o.Depth = DefaultDepth
	}
	if o.HistoryBytes <= 0 {
		o.HistoryBytes = DefaultHistoryBytes
	}
	if o.SerializationFormat == "" {
		o.SerializationFormat = "cdr"
	}
	topics := slices.Clone(o.Filter.Topics)
	slices.Sort(topics)
	o.Filter.Topics = slices.Compact(topics) // how many there are decides when all are found
	return o
}
