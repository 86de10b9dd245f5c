package bag

import "slices"

// maxCalls bounds the clients and gaps in their numbers that are remembered at a time, for all services: some 25 MB.
const maxCalls = 200_000

// callLimit is shared by the sets of a bag.
type callLimit struct {
	left     int
	exceeded bool // some calls could not be told apart, and were not counted
}

func newCallLimit() *callLimit { return &callLimit{left: maxCalls} }

func (l *callLimit) take() bool {
	if l.left == 0 {
		l.exceeded = true
		return false
	}
	l.left--
	return true
}

// callSet counts calls, each once. A client numbers its calls without gaps, so what is remembered are runs of numbers.
type callSet struct {
	limit   *callLimit
	clients map[clientID][]callRun
	count   uint64
}

// callRun are the numbers first to last. The runs of a client are sorted and do not touch.
type callRun struct{ first, last int64 }

func newCallSet(limit *callLimit) *callSet {
	return &callSet{limit: limit, clients: map[clientID][]callRun{}}
}

func (s *callSet) add(client clientID, number int64) {
	runs := s.clients[client]
	at, _ := slices.BinarySearchFunc(runs, number, func(run callRun, number int64) int {
		switch {
		case run.last < number:
			return -1
		case run.first > number:
			return 1
		}
		return 0
	})
	if at < len(runs) && runs[at].first <= number {
		return
	}
	behind := at > 0 && runs[at-1].last == number-1
	before := at < len(runs) && runs[at].first-1 == number
	switch {
	case behind && before:
		runs[at-1].last = runs[at].last
		runs = slices.Delete(runs, at, at+1)
		s.limit.left++
	case behind:
		runs[at-1].last = number
	case before:
		runs[at].first = number
	case s.limit.take():
		runs = slices.Insert(runs, at, callRun{number, number})
	default:
		return
	}
	s.clients[client] = runs
	s.count++
}
