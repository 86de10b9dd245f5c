package bag

import "encoding/binary"

// eventKey identifies a call: the client that made it and its number there.
type eventKey struct {
	client [16]byte
	number int64
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

// countEvent counts calls, not events: client and service both may tell of the same one. What is no event is left out.
func (u *usage) countEvent(data []byte) {
	if len(data) < eventMinimum || data[eventTypeAt] > eventTypeMost {
		return
	}
	order := binary.ByteOrder(binary.BigEndian)
	if data[1]&1 == 1 {
		order = binary.LittleEndian
	}
	key := eventKey{number: int64(order.Uint64(data[eventNumberAt:]))}
	copy(key.client[:], data[eventClientAt:])
	if data[eventTypeAt] <= eventIsRequest {
		u.requests[key] = struct{}{}
	} else {
		u.responses[key] = struct{}{}
	}
}
