package node

// ServiceEventKind says where on its way a call was seen; the numbers are those of service_msgs/msg/ServiceEventInfo.
type ServiceEventKind uint8

// The kinds of service events.
const (
	RequestSent      ServiceEventKind = iota // told by the client
	RequestReceived                          // told by the service
	ResponseSent                             // told by the service
	ResponseReceived                         // told by the client
)

// ServiceEvent is one event of the topic <service>/_service_event. ClientGID and Sequence name the call: all events
// of one call have the same.
type ServiceEvent struct {
	Kind       ServiceEventKind
	StampNanos int64 // since the epoch, by the clock of who tells
	ClientGID  GID
	Sequence   int64
	// Request is the request, serialized for Client.Send. It is nil in the events of a response, and where the
	// introspection of the service is configured to publish metadata only: then there is nothing to send.
	Request []byte
}
