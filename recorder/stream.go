package recorder

import "rosbagd/node"

const (
	// seqIntervals bounds the memory of one publisher's sequence numbers: 64 open gaps are 1 KiB.
	seqIntervals = 64
	// timeIntervals bounds the sent times kept where a middleware numbers nothing; each is an interval of its own.
	timeIntervals = 512
	// streamsPerTopic bounds the publishers remembered per topic: short-lived ones come and go on a topic for weeks.
	streamsPerTopic = 256
)

// stream is what one publisher sent on one topic, as far as it was seen.
type stream struct {
	numbers seqSet
	times   seqSet  // sent times, only where there are no numbers
	home    *source // the subscription that answers for what is missing
	used    uint64  // the topic's turn when it was last used
}

// streams are the publishers of one topic. They belong to one goroutine.
type streams struct {
	byGID map[node.GID]*stream
	turn  uint64

	lastGID node.GID // the stream used last: batches hold runs of one publisher
	last    *stream

	heard heard // those of byGID, for other goroutines

	missing    int64 // numbers that were passed over, of all publishers
	unnumbered bool  // some message had no sequence number: how many were lost is not known
}

// see notes a message of a subscription and says whether it is new, and whether losses have changed. Without sequence
// numbers a message is told from a copy of it by its sent time, if compare asks for that; such copies only
// exist where a topic has several subscriptions.
func (s *streams) see(m *node.Message, from *source, compare bool) (fresh, changed bool) {
	st := s.of(m.GID)
	if st.home != from && from.outranks(st.home) {
		st.home = from
	}
	s.turn++
	st.used = s.turn
	if m.Sequence == node.NoSequence {
		s.unnumbered = true
		return !compare || st.times.add(uint64(m.SourceNanos)), false
	}
	before := st.numbers.missing
	fresh = st.numbers.add(m.Sequence)
	if more := int64(st.numbers.missing - before); more != 0 {
		s.missing += more
		st.home.gaps += more
		changed = true
	}
	return fresh || !compare, changed
}

// of finds the stream of gid, or makes it in place of the one that was unused for longest.
func (s *streams) of(gid node.GID) *stream {
	if s.last != nil && s.lastGID == gid {
		return s.last
	}
	st := s.byGID[gid]
	if st == nil {
		if s.byGID == nil {
			s.byGID = map[node.GID]*stream{}
		}
		if len(s.byGID) >= streamsPerTopic {
			s.forgetOldest()
		}
		st = &stream{numbers: seqSet{limit: seqIntervals}, times: seqSet{limit: timeIntervals}}
		s.byGID[gid] = st
		s.heard.add(gid)
	}
	s.lastGID, s.last = gid, st
	return st
}

func (s *streams) forgetOldest() {
	var oldest node.GID
	var found *stream
	for gid, st := range s.byGID {
		if found == nil || st.used < found.used {
			oldest, found = gid, st
		}
	}
	delete(s.byGID, oldest)
	s.heard.remove(oldest)
}
