package node

import "rosbagd/storage/qos"

// Stamping says when a middleware stamps the received time of a message.
type Stamping int

const (
	// StampedAtTake means that whoever takes late gets a late stamp: messages must be taken as soon as they arrive.
	StampedAtTake Stamping = iota
	// StampedAtArrival means that messages may gather and be taken in batches.
	StampedAtArrival
)

// String is the word for logs.
func (s Stamping) String() string {
	if s == StampedAtArrival {
		return "at arrival"
	}
	return "when taken"
}

// Middleware is what the data plane must know of an RMW implementation.
type Middleware struct {
	Identifier string
	Known      bool // it is in the table
	Stamping   Stamping
	Numbered   bool // messages carry the sequence numbers of their publishers
	// HistoryLimit is the most messages that a subscription keeps whatever it asks for; 0 is no limit of its own.
	HistoryLimit int
}

// fastDDSHistory is max_samples of Fast DDS. A larger or unlimited history keeps the oldest and rejects what comes
// after them, without telling.
const fastDDSHistory = 5000

// MiddlewareOf gives the rules for the RMW implementation of an identifier. One that is not known is treated as the most
// demanding of the known ones, rmw_cyclonedds_cpp, but for the numbers, which are taken for what it says they are.
func MiddlewareOf(identifier string) Middleware {
	m := Middleware{Identifier: identifier, Known: true}
	switch identifier {
	case "rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp":
		m.Stamping, m.Numbered, m.HistoryLimit = StampedAtArrival, true, fastDDSHistory
	case "rmw_connextdds", "rmw_zenoh_cpp":
		m.Stamping, m.Numbered = StampedAtArrival, true
	case "rmw_cyclonedds_cpp":
		m.Stamping, m.Numbered = StampedAtTake, false
	default:
		m.Known, m.Stamping, m.Numbered = false, StampedAtTake, true
	}
	return m
}

// fit keeps a profile within what the middleware can do: the newest messages of a history that it can hold.
func (m Middleware) fit(p qos.Profile) qos.Profile {
	if m.HistoryLimit > 0 && (p.History == qos.KeepAll || p.Depth > m.HistoryLimit) {
		p.History, p.Depth = qos.KeepLast, m.HistoryLimit
	}
	return p
}
