package mcap

import (
	"cmp"
	"slices"
	"sort"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// timeline orders the chunks of a file by the first of their times in one of the two orders. Chunks may overlap.
type timeline struct {
	order   storage.Order
	chunks  []chunkRef // in the order of the file
	first   []int64    // by chunk, smallest key of its messages
	sorted  []int      // positions in chunks by first; equal ones in the order of the file
	lastLog []int64    // by position in sorted: largest log time of it and of all before it
}

// newTimeline orders by log time, or leaves the chunks as they stand in the file.
func newTimeline(chunks []chunkRef, order storage.Order) *timeline {
	t := &timeline{order: order, chunks: chunks, first: make([]int64, len(chunks))}
	for i, chunk := range chunks {
		t.first[i] = chunk.start
		if order == storage.ByFile {
			t.first[i] = int64(i)
		}
	}
	t.sort()
	return t
}

// publishTimeline orders by publish time. No record tells when the messages of a chunk were sent, so each chunk is
// read once.
func (r *Reader) publishTimeline(chunks []chunkRef) (*timeline, error) {
	t := &timeline{order: storage.ByPublishTime, chunks: chunks, first: make([]int64, len(chunks))}
	for i, chunk := range chunks {
		records, err := r.load(chunk)
		if err != nil && !isCorruption(err) {
			return nil, err
		}
		seen := false
		_, _ = walk(records, func(op mcaplib.OpCode, body []byte, _ int) error {
			if op != mcaplib.OpMessage {
				return nil
			}
			if m := parseMessage(body); !seen || m.pub < t.first[i] {
				t.first[i], seen = m.pub, true
			}
			return nil
		})
	}
	t.sort()
	return t, nil
}

func (t *timeline) sort() {
	t.sorted = make([]int, len(t.chunks))
	for i := range t.sorted {
		t.sorted[i] = i
	}
	slices.SortStableFunc(t.sorted, func(a, b int) int { return cmp.Compare(t.first[a], t.first[b]) })
	t.lastLog = make([]int64, len(t.chunks))
	var last int64
	for i, chunk := range t.sorted {
		last = max(last, t.chunks[chunk].end)
		t.lastLog[i] = last
	}
}

// key is what a message of a chunk is ordered by.
func (t *timeline) key(chunk int, m messageAt) int64 {
	switch t.order {
	case storage.ByFile:
		return int64(chunk)
	case storage.ByPublishTime:
		return m.pub
	default:
		return m.log
	}
}

// seek gives the first position in sorted that can have a message of this log time or later.
func (t *timeline) seek(fromNanos int64) int {
	return sort.Search(len(t.lastLog), func(i int) bool { return t.lastLog[i] >= fromNanos })
}
