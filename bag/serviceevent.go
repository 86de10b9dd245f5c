package bag

import (
	"encoding/binary"
	"strings"

	"rosbagd/storage"
)

// clientID is who made a call.
type clientID [16]byte

// serviceEvent is what service_msgs/msg/ServiceEventInfo tells of a call: client and number identify it.
type serviceEvent struct {
	client  clientID
	number  int64
	request bool // or else a response
}

// The layout of service_msgs/msg/ServiceEventInfo, which every event message begins with, in CDR behind the
// encapsulation header.
const (
	cdrHeaderLen   = 4
	eventTypeAt    = cdrHeaderLen
	eventClientAt  = cdrHeaderLen + 12 // the type, padding, and the stamp's two words
	eventNumberAt  = cdrHeaderLen + 32 // padded to a multiple of 8
	eventMinimum   = eventNumberAt + 8
	eventIsRequest = 1 // greatest event type of a request; above it are the responses
	eventTypeMost  = 3
)

// parseEvent reads the head of an event message; false when it is none.
func parseEvent(data []byte) (serviceEvent, bool) {
	if len(data) < eventMinimum || data[eventTypeAt] > eventTypeMost {
		return serviceEvent{}, false
	}
	order := binary.ByteOrder(binary.BigEndian)
	if data[1]&1 == 1 {
		order = binary.LittleEndian
	}
	event := serviceEvent{number: int64(order.Uint64(data[eventNumberAt:])), request: data[eventTypeAt] <= eventIsRequest}
	copy(event.client[:], data[eventClientAt:])
	return event, true
}

// isEvents says whether a topic has the events of a service, be it one of an action.
func isEvents(topic storage.Topic) bool {
	kind, _ := KindOf(topic.Name, topic.Type)
	return kind != PlainTopic && strings.HasSuffix(topic.Name, EventSuffix)
}
