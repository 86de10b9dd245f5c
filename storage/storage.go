package storage

import "rosbagd/storage/qos"

// Definition is the text that describes a message type, in the concatenated form of the MCAP registry
// (encoding "ros2msg" or "ros2idl"). An empty Encoding means: not known.
type Definition struct {
	Encoding string
	Text     string
}

// Topic is what a file keeps of a topic beside its messages.
type Topic struct {
	Name                string // fully qualified, leading slash
	Type                string // pkg/msg/Name
	SerializationFormat string // "cdr"
	OfferedQoS          []qos.Profile
	TypeHash            string // RIHS01_<64 hex>, empty when unknown
	Definition          Definition
}

// TopicID names a topic within one Writer (as AddTopic returned it) or one Reader (the index into Info.Topics).
type TopicID int

// Message is one recorded message. Times are nanoseconds since the epoch.
type Message struct {
	Topic            TopicID
	Sequence         uint32 // publisher's sequence number, low 32 bits; 0 when unknown
	LogTimeNanos     int64  // when it was received
	PublishTimeNanos int64  // when it was sent; equals LogTimeNanos where the format keeps no sent time
	Data             []byte // serialized payload, with its encapsulation header
}

// Writer writes one file. Write and AddTopic belong to one goroutine; Flush, Sync and Size may be called from
// another one at the same time.
type Writer interface {
	// AddTopic registers a topic. The same name twice returns the first id if the type agrees, ErrTopicType if not.
	AddTopic(Topic) (TopicID, error)
	// Write appends messages in the given order. It has copied the payloads when it returns. A single message that
	// the format can not hold costs that message: Write goes on with the rest and returns a *RejectedError. Any other
	// error is final for this Writer.
	Write([]Message) error
	// Flush hands everything written so far to the operating system: it survives the death of this process.
	Flush() error
	// Sync makes what was flushed so far, and the name of the file, survive a loss of power. It may take seconds and does
	// not hold up Write.
	Sync() error
	// Size is how large the file is, in bytes, with what is still in memory.
	Size() int64
	// Info describes what was written so far.
	Info() Info
	// Seal flushes, writes the index and the summary, syncs and closes the file. metadata is the YAML of the bag's
	// metadata (without its root key) for formats that keep a copy; empty for none.
	Seal(metadata []byte) error
	// Close gives the file up without finishing it; after Seal it does nothing.
	Close() error
}

// OfferUpdater is a Writer that can still change what it says of a topic's publishers, for a while. It may be called by
// another goroutine than Write.
type OfferUpdater interface {
	// UpdateOffers is false when it is too late.
	UpdateOffers(id TopicID, offered []qos.Profile) bool
}

// TopicInfo is a topic of a file with the number of its messages.
type TopicInfo struct {
	Topic
	MessageCount uint64
	PayloadBytes uint64 // sum of the payloads; 0 when the file does not tell without being read whole
}

// Info describes the content of one file.
type Info struct {
	StorageID    string
	Topics       []TopicInfo
	MessageCount uint64
	StartNanos   int64 // smallest log time; 0 when there is no message
	EndNanos     int64 // largest log time; 0 when there is no message
	// Metadata is the newest copy of the bag's metadata (YAML without its root key) within the file, if any.
	Metadata []byte
	// ROSDistro is the distro that the file names, if any.
	ROSDistro string
	// Damage says in one sentence what is missing when the file was not finished or is damaged; empty for a whole file.
	Damage string
	// Harmless tells that the Damage costs no message.
	Harmless bool
	// Journal tells that some of the content stands in a companion of the file (see Format), since it was not finished.
	Journal bool
	// Unindexed tells that the file has no index or summary of its own, so that all of it was gone through to describe it.
	Unindexed bool
}

// Order is the time by which messages are given.
type Order int

// The orders of a bag; equal times keep the order of the file.
const (
	ByLogTime Order = iota
	// ByPublishTime may give a message later that took long to be received, where a format keeps no index of sent times;
	// the package of the format says how long.
	ByPublishTime
	ByFile // as the messages stand in the file
)

// Query selects messages of a file. The zero Query is every message by log time.
type Query struct {
	Topics     []TopicID // nil: all; empty but not nil: none
	FromNanos  int64     // first log time wanted, inclusive; 0 is from the start
	UntilNanos int64     // last log time wanted, inclusive, if HasUntil
	HasUntil   bool
	Order      Order
}

// Iterator gives messages one after the other. The Data of a message stays valid for as long as it is referenced: it
// is never written to again (a player hands it to the middleware as it is).
type Iterator interface {
	// Next returns io.EOF after the last message. A *CorruptionError for a damaged part is returned once and the call
	// after it goes on behind the damage.
	Next() (Message, error)
	Close() error
}

// Reader reads one file.
type Reader interface {
	Info() Info
	Messages(Query) (Iterator, error)
	Close() error
}
