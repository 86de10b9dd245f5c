package node

import (
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// GID identifies a publisher in the whole graph, as the middleware gives it with each message.
type GID [16]byte

// Endpoint is a publisher or a subscription of somebody, as the graph shows it.
type Endpoint struct {
	NodeName      string
	NodeNamespace string
	Type          string // pkg/msg/Name
	TypeHash      string // RIHS01_<64 hex>; empty where the distro has none
	GID           GID
	QoS           qos.Profile
}

// FullNodeName is the fully qualified name of the node; empty while the graph does not know it.
func (e Endpoint) FullNodeName() string {
	if e.NodeName == "" || e.NodeName == unknownNode || e.NodeNamespace == unknownNamespace {
		return ""
	}
	return strings.TrimSuffix(e.NodeNamespace, "/") + "/" + e.NodeName
}

// What the middleware calls the node of an endpoint whose node it has not met yet.
const (
	unknownNode      = "_NODE_NAME_UNKNOWN_"
	unknownNamespace = "_NODE_NAMESPACE_UNKNOWN_"
)

// Type is what is known of a type whose package need not be installed.
type Type struct {
	Name       string             // pkg/msg/Name
	Hash       string             // as others announce it, RIHS01_<64 hex>; empty where nobody does
	Definition storage.Definition // with an empty encoding where there is none
}

// SubscriptionID names a subscription of one Node; ids are never used again.
type SubscriptionID uint32

// NoSequence is the Sequence of a message whose middleware numbers nothing.
const NoSequence = ^uint64(0)

// Message is one serialized message as it was taken from the middleware.
type Message struct {
	Subscription  SubscriptionID
	ReceivedNanos int64 // since the epoch, stamped by the middleware at arrival; by us where it stamps nothing
	SourceNanos   int64 // since the epoch, stamped by the sender; ReceivedNanos where there is none
	Sequence      uint64
	GID           GID
	Data          []byte // lies in the memory of its Batch
}

// Loss is how many messages a subscription has lost in transport, or to a publisher that overwrote them, since the last
// Loss of it. What the own history of the subscription pushed out is not among them.
type Loss struct {
	Subscription SubscriptionID
	Count        uint64
}

// Batch is what one look at all subscriptions gave, ordered by received time. Its memory is its own, outside the
// garbage collector, until Release.
type Batch struct {
	Messages []Message
	Bytes    int64 // memory held: payloads and their block, not the slice of headers
	// Losses explain gaps in the sequence numbers of these messages and earlier ones. There may be losses without
	// messages.
	Losses []Loss
	// TellsLosses says that the middleware does tell losses: a gap that none of them explains is our own.
	TellsLosses bool
	release     func()
}

// NewBatch makes a Batch whose memory is given back by release (which may be nil).
func NewBatch(messages []Message, bytes int64, release func()) *Batch {
	return &Batch{Messages: messages, Bytes: bytes, release: release}
}

// Release gives the memory of all payloads back. Neither the batch nor a payload may be used afterwards.
func (b *Batch) Release() {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	b.Messages = nil
}
