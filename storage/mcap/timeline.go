package mcap

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"time"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// A file does not tell when the messages of a chunk were sent. In a file of up to exactBytes every chunk is looked at
// before the first message by publish time is given, which makes the order exact. In a larger one the order is exact for
// messages that were received within sentWindow of being sent; one that took longer is given as soon as it is met.
const (
	exactBytes = 64 << 20
	sentWindow = 2 * time.Second
)

// timeline orders the blocks of a chunkList by the first of their times in one of the orders. Blocks may overlap.
type timeline struct {
	order  storage.Order
	list   *chunkList
	window int64 // how long before its log time a message can have been sent
	sorted []int // positions in list.blocks by first
	last   []int64
}

func newTimeline(list *chunkList, order storage.Order, size int64) *timeline {
	t := &timeline{
		order: order, list: list, window: int64(sentWindow),
		sorted: make([]int, len(list.blocks)), last: make([]int64, len(list.blocks)),
	}
	if size <= exactBytes {
		t.window = math.MaxInt64
	}
	for i := range t.sorted {
		t.sorted[i] = i
	}
	slices.SortStableFunc(t.sorted, func(a, b int) int { return cmp.Compare(t.firstOfBlock(a), t.firstOfBlock(b)) })
	var last int64
	for i, block := range t.sorted {
		last = max(last, list.blocks[block].end)
		t.last[i] = last
	}
	return t
}

// first is the least key that a message of a chunk can have.
func (t *timeline) first(position int, startNanos int64) int64 {
	switch t.order {
	case storage.ByFile:
		return int64(position)
	case storage.ByPublishTime:
		return max(startNanos-t.window, math.MinInt64+1)
	default:
		return startNanos
	}
}

func (t *timeline) firstOfBlock(i int) int64 {
	return t.first(t.list.blocks[i].first, t.list.blocks[i].start)
}

// key is what a message of a chunk is ordered by.
func (t *timeline) key(position int, m messageAt) int64 {
	switch t.order {
	case storage.ByFile:
		return int64(position)
	case storage.ByPublishTime:
		return m.pub
	default:
		return m.log
	}
}

// seek gives the first position in sorted that can have a message of this log time or later.
func (t *timeline) seek(fromNanos int64) int {
	return sort.Search(len(t.last), func(i int) bool { return t.last[i] >= fromNanos })
}

// agenda gives the chunks that a query needs, in the order of the least key that each can have. Only the chunks of
// blocks whose time has come are in memory.
type agenda struct {
	reader *Reader
	line   *timeline
	query  storage.Query
	wants  func(channel uint16) bool
	next   int // position in line.sorted of the first block that was not opened
	due    minHeap[dueChunk]
	refs   []chunkRef // reused
}

type dueChunk struct {
	first int64
	ref   chunkRef
}

func (a dueChunk) before(b dueChunk) bool {
	if a.first != b.first {
		return a.first < b.first
	}
	return a.ref.position < b.ref.position
}

// peek is the least key that a message of the chunks that were not taken yet can have; ok is false when there are none.
// Blocks whose time has come are opened: when the key is not behind now, pop gives the chunk.
func (a *agenda) peek(now int64) (first int64, ok bool, err error) {
	for a.next < len(a.line.sorted) {
		first := a.line.firstOfBlock(a.line.sorted[a.next])
		if len(a.due) > 0 && a.due[0].first < first {
			break
		}
		if first > now {
			return first, true, nil
		}
		a.next++
		if err := a.open(a.line.sorted[a.next-1]); err != nil {
			return 0, false, err
		}
	}
	if len(a.due) > 0 {
		return a.due[0].first, true, nil
	}
	return 0, false, nil
}

func (a *agenda) open(block int) error {
	b := &a.line.list.blocks[block]
	if a.outside(b.start, b.end) {
		return nil
	}
	refs, err := a.line.list.block(a.reader.source, block, a.refs[:0])
	a.refs = refs
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if a.outside(ref.start, ref.end) {
			continue
		}
		if skip, err := a.unwanted(ref); err != nil {
			return err
		} else if skip {
			continue
		}
		ref.channels = nil
		a.due.push(dueChunk{first: a.line.first(ref.position, ref.start), ref: ref})
	}
	return nil
}

func (a *agenda) outside(start, end int64) bool {
	return end < a.query.FromNanos || (a.query.HasUntil && start > a.query.UntilNanos)
}

// unwanted says from the index alone that a chunk has no message of the topics asked for.
func (a *agenda) unwanted(ref chunkRef) (bool, error) {
	if a.query.Topics == nil || ref.bare || ref.indexLen == 0 {
		return false, nil
	}
	if len(a.query.Topics) == 0 {
		return true, nil
	}
	if len(ref.channels) >= indexPairLen {
		for list := ref.channels; len(list) >= indexPairLen; list = list[indexPairLen:] {
			if a.wants(binary.LittleEndian.Uint16(list)) {
				return false, nil
			}
		}
		return true, nil
	}
	w := window{source: a.reader.source, step: 4 << 10}
	until := ref.offset + ref.length + ref.indexLen
	for at := ref.offset + ref.length; at < until; {
		rec, err := w.record(at, until)
		if err != nil || rec.op != mcaplib.OpMessageIndex || rec.length < 6 {
			return false, passCorruption(err) // so the chunk itself tells
		}
		head, err := w.bytes(rec.body(), 2)
		if err != nil {
			return false, err
		}
		if a.wants(binary.LittleEndian.Uint16(head)) {
			return false, nil
		}
		at = rec.end()
	}
	return true, nil
}

// passCorruption gives nil for damage of the file and err for everything else.
func passCorruption(err error) error {
	if err == nil || storage.IsCorruption(err) {
		return nil
	}
	return err
}

// pop takes the chunk that peek told of.
func (a *agenda) pop() chunkRef { return a.due.pop().ref }

func (a *agenda) close() {
	a.next, a.due, a.refs = len(a.line.sorted), nil, nil
}
