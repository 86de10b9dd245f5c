package clock

import "sort"

// followed bounds the memory of a Follower. What has arrived and is not taken yet is younger than any of so many: no
// middleware keeps more than 5000 messages of a topic for us.
const followed = 8192

// Follower is ROS time as a node sees it that follows the /clock of somebody else: between two messages of /clock it
// stands still. It knows what the time was when something arrived, also when that is looked at later, so that a batch
// does not get one time. ROS time may jump back, and so may the clock of this machine; it belongs to one goroutine. The
// zero value is ready.
type Follower struct {
	pairs   []pair // in the order of received
	started bool   // there was a pair before those in pairs
}

type pair struct {
	received int64 // by the clock of this machine, ns since the epoch
	ros      Time
}

// Add notes that /clock told a time, and when that arrived. A time of zero is that of a simulation that has not begun.
func (f *Follower) Add(receivedNanos int64, ros Time) {
	if ros == 0 {
		return
	}
	// What seems to come later than this was stamped before the clock of this machine was set back.
	for n := len(f.pairs); n > 0 && f.pairs[n-1].received > receivedNanos; n-- {
		f.pairs = f.pairs[:n-1]
		f.started = true
	}
	if len(f.pairs) == 2*followed {
		f.pairs = append(f.pairs[:0], f.pairs[followed:]...)
		f.started = true
	}
	f.pairs = append(f.pairs, pair{receivedNanos, ros})
}

// At gives the ROS time at an instant of this machine's clock; false for an instant before the first message of /clock.
func (f *Follower) At(receivedNanos int64) (ros Time, ok bool) {
	after := sort.Search(len(f.pairs), func(i int) bool { return f.pairs[i].received > receivedNanos })
	switch {
	case after > 0:
		return f.pairs[after-1].ros, true
	case f.started && len(f.pairs) > 0:
		return f.pairs[0].ros, true // forgotten; this is the nearest
	default:
		return 0, false
	}
}
