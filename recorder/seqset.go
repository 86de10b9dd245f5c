package recorder

import "sort"

// interval is a run of sequence numbers, both ends inclusive.
type interval struct{ low, high uint64 }

// seqSet remembers which sequence numbers of one publisher were seen, as sorted intervals. It tells a new number from
// a repeated one and counts the numbers missing between the smallest and the largest seen; what was before the first
// one does not count, because whoever joins late does not start at one. The usual next number costs O(1).
//
// The number of intervals is bounded: beyond limit the two oldest become one, and a number missing between them stays
// lost, even if it comes after all (it is then taken for a repeated one).
type seqSet struct {
	intervals []interval
	limit     int
	missing   uint64
}

// add records seq and says whether it is new.
func (s *seqSet) add(seq uint64) bool {
	n := len(s.intervals)
	if n == 0 {
		s.intervals = append(s.intervals, interval{seq, seq})
		return true
	}
	last := &s.intervals[n-1]
	if seq <= last.high {
		return s.insert(seq)
	}
	gap := seq - last.high - 1
	if gap == 0 {
		last.high = seq
		return true
	}
	s.missing += gap
	s.intervals = append(s.intervals, interval{seq, seq})
	s.bound()
	return true
}

// insert adds a number at or below the largest one.
func (s *seqSet) insert(seq uint64) bool {
	next := sort.Search(len(s.intervals), func(i int) bool { return s.intervals[i].low > seq })
	if next > 0 && seq <= s.intervals[next-1].high {
		return false
	}
	// next exists: only a number within the last interval has none above it.
	if next == 0 {
		s.missing += s.intervals[0].low - seq - 1
	} else {
		s.missing--
	}
	left := next > 0 && s.intervals[next-1].high+1 == seq
	right := s.intervals[next].low == seq+1
	switch {
	case left && right:
		s.intervals[next-1].high = s.intervals[next].high
		s.intervals = append(s.intervals[:next], s.intervals[next+1:]...)
	case left:
		s.intervals[next-1].high = seq
	case right:
		s.intervals[next].low = seq
	default:
		s.intervals = append(s.intervals, interval{})
		copy(s.intervals[next+1:], s.intervals[next:])
		s.intervals[next] = interval{seq, seq}
		s.bound()
	}
	return true
}

func (s *seqSet) bound() {
	for len(s.intervals) > s.limit {
		s.intervals[1].low = s.intervals[0].low
		s.intervals = s.intervals[1:]
	}
}
