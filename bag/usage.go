package bag

import (
	"time"

	"rosbagd/storage"
)

// Usage is what the messages of a topic tell when all of them are read.
type Usage struct {
	Messages   uint64 // that could be read
	Bytes      uint64 // of their payloads, unpacked
	FirstNanos int64  // smallest log time; 0 without messages
	LastNanos  int64  // largest log time; 0 without messages
	// LargestGap is the longest time between the log times of two messages that follow each other; 0 below two messages.
	LargestGap time.Duration
	// Requests and Responses are calls of a service, each counted once however many of its events were recorded.
	Requests, Responses uint64
}

// Frequency is messages per second between the first and the last one; ok is false where that means nothing.
func (u Usage) Frequency() (perSecond float64, ok bool) {
	if u.Messages < 2 || u.LastNanos <= u.FirstNanos {
		return 0, false
	}
	return float64(u.Messages-1) / time.Duration(u.LastNanos-u.FirstNanos).Seconds(), true
}

// measurer adds messages up. Its memory grows with topics and with clients of services, not with messages.
type measurer struct {
	usages   []Usage
	requests []*callSet // by topic; nil for topics without events
	answers  []*callSet
	calls    *callLimit
}

func (m *measurer) grow(topics []storage.TopicInfo) {
	for i := len(m.usages); i < len(topics); i++ {
		m.usages = append(m.usages, Usage{})
		var requests, answers *callSet
		if isEvents(topics[i].Topic) {
			requests, answers = newCallSet(m.calls), newCallSet(m.calls)
		}
		m.requests, m.answers = append(m.requests, requests), append(m.answers, answers)
	}
}

func (m *measurer) add(message storage.Message) {
	u := &m.usages[message.Topic]
	at := message.LogTimeNanos
	if u.Messages == 0 {
		u.FirstNanos, u.LastNanos = at, at
	}
	u.LargestGap = max(u.LargestGap, time.Duration(at-u.LastNanos))
	u.FirstNanos, u.LastNanos = min(u.FirstNanos, at), max(u.LastNanos, at)
	u.Messages++
	u.Bytes += uint64(len(message.Data))
	requests := m.requests[message.Topic]
	if requests == nil {
		return
	}
	event, ok := parseEvent(message.Data)
	switch {
	case !ok:
	case event.request:
		requests.add(event.client, event.number)
		u.Requests = requests.count
	default:
		m.answers[message.Topic].add(event.client, event.number)
		u.Responses = m.answers[message.Topic].count
	}
}
