package mcap

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// maxLoaded bounds how many chunks are in memory at once when many overlap. The rest are remembered by their next time
// and read again when it comes.
const maxLoaded = 64

// iterator merges chunks by time. Each opened chunk is a part of the heap, ordered by its next message.
type iterator struct {
	reader *Reader
	line   *timeline
	query  storage.Query
	wanted []storage.TopicID // by channel id: topic id + 1, 0 for not wanted

	next   int // position in line.sorted of the first chunk that was not looked at
	parts  partHeap
	loaded int
	faults []error   // to be returned once each
	spare  [][]entry // memory of finished parts
}

// entry is a message of a loaded chunk.
type entry struct {
	key int64 // time in the order asked for
	at  int   // of its record in the chunk
}

// part is a chunk that has messages left.
type part struct {
	chunk   int // position in timeline.chunks, which breaks ties
	key     int64
	done    int     // entries already given
	entries []entry // nil while the chunk is not in memory
	records []byte
}

func newIterator(r *Reader, line *timeline, query storage.Query) *iterator {
	it := &iterator{reader: r, line: line, query: query, next: line.seek(query.FromNanos)}
	selected := func(storage.TopicID) bool { return true }
	if query.Topics != nil {
		selected = func(id storage.TopicID) bool { return slices.Contains(query.Topics, id) }
	}
	for channel, topic := range r.topics {
		if grown := int(channel) + 1 - len(it.wanted); grown > 0 {
			it.wanted = append(it.wanted, make([]storage.TopicID, grown)...)
		}
		if selected(topic) {
			it.wanted[channel] = topic + 1
		}
	}
	return it
}

func (it *iterator) topic(channel uint16) storage.TopicID {
	if int(channel) >= len(it.wanted) {
		return 0
	}
	return it.wanted[channel]
}

// Next implements storage.Iterator.
func (it *iterator) Next() (storage.Message, error) {
	for {
		if err := it.openDue(); err != nil {
			return storage.Message{}, err
		}
		if len(it.faults) > 0 {
			err := it.faults[0]
			it.faults = it.faults[1:]
			return storage.Message{}, err
		}
		if len(it.parts) == 0 {
			return storage.Message{}, io.EOF
		}
		p := it.parts[0]
		if p.entries == nil {
			if err := it.reload(p); err != nil {
				return storage.Message{}, err
			}
			continue
		}
		m := p.message(it)
		it.advance(p)
		return m, nil
	}
}

// message builds the next message of the part. Its data is a part of the chunk's memory, which is never used again.
func (p *part) message(it *iterator) storage.Message {
	at := p.entries[p.done].at
	length := int(binary.LittleEndian.Uint64(p.records[at+1:]))
	m := parseMessage(p.records[at+recordHeaderLen : at+recordHeaderLen+length])
	return storage.Message{
		Topic: it.topic(m.channel) - 1, Sequence: m.sequence,
		LogTimeNanos: m.log, PublishTimeNanos: m.pub, Data: m.data,
	}
}

func (it *iterator) advance(p *part) {
	p.done++
	if p.done < len(p.entries) {
		p.key = p.entries[p.done].key
		if len(it.parts) > 1 {
			heap.Fix(&it.parts, 0)
		}
		return
	}
	it.unload(p)
	heap.Pop(&it.parts)
}

func (it *iterator) unload(p *part) {
	it.spare = append(it.spare, p.entries[:0])
	p.entries, p.records = nil, nil
	it.loaded--
}

// openDue opens every chunk that may hold the next message: one that begins no later than the first of those that are
// open.
func (it *iterator) openDue() error {
	for it.next < len(it.line.sorted) && len(it.faults) == 0 {
		chunk := it.line.sorted[it.next]
		if len(it.parts) > 0 && it.line.first[chunk] > it.parts[0].key {
			return nil
		}
		it.next++
		ref := it.line.chunks[chunk]
		if ref.end < it.query.FromNanos || (it.query.HasUntil && ref.start > it.query.UntilNanos) {
			continue
		}
		if skip, err := it.unwanted(ref); err != nil {
			return err
		} else if skip {
			continue
		}
		p := &part{chunk: chunk}
		if err := it.load(p); err != nil {
			return err
		}
		if len(p.entries) == 0 {
			it.unload(p)
			continue
		}
		p.key = p.entries[0].key
		heap.Push(&it.parts, p)
	}
	return nil
}

// unwanted says from the index alone that a chunk has no message of the topics asked for.
func (it *iterator) unwanted(ref chunkRef) (bool, error) {
	if it.query.Topics == nil || ref.indexLen == 0 || ref.channelsLen < 10 {
		return false, nil
	}
	list, err := it.reader.slice(ref.channelsAt, ref.channelsLen)
	if err != nil {
		return false, err
	}
	for ; len(list) >= 10; list = list[10:] {
		if it.topic(binary.LittleEndian.Uint16(list)) != 0 {
			return false, nil
		}
	}
	return true, nil
}

// load reads a chunk and sorts its wanted messages. Damage becomes a fault; what was good before it stays.
func (it *iterator) load(p *part) error {
	it.makeRoom()
	ref := it.line.chunks[p.chunk]
	p.entries = it.memory()
	it.loaded++
	records, err := it.reader.load(ref)
	if err != nil {
		if !isCorruption(err) {
			return err
		}
		it.faults = append(it.faults, err)
		return nil
	}
	p.records = records
	strangers := 0
	sorted := true
	at, err := walk(records, func(op mcaplib.OpCode, body []byte, at int) error {
		if op != mcaplib.OpMessage {
			return nil
		}
		m := parseMessage(body)
		if it.topic(m.channel) == 0 {
			if _, ok := it.reader.topics[m.channel]; !ok {
				strangers++
			}
			return nil
		}
		if m.log < it.query.FromNanos || (it.query.HasUntil && m.log > it.query.UntilNanos) {
			return nil
		}
		key := it.line.key(p.chunk, m)
		if n := len(p.entries); n > 0 && key < p.entries[n-1].key {
			sorted = false
		}
		p.entries = append(p.entries, entry{key: key, at: at})
		return nil
	})
	if err != nil {
		it.faults = append(it.faults, it.reader.corrupt(ref.offset, fmt.Errorf("at byte %d of chunk: %w", at, err)))
	}
	if strangers > 0 {
		it.faults = append(it.faults, it.reader.corrupt(ref.offset, fmt.Errorf("%d times %w", strangers, errNoChannel)))
	}
	if !sorted {
		slices.SortStableFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	}
	return nil
}

// reload brings a part back that had to make room. Its faults were told the first time.
func (it *iterator) reload(p *part) error {
	faults := len(it.faults)
	if err := it.load(p); err != nil {
		return err
	}
	it.faults = it.faults[:faults]
	if p.done >= len(p.entries) { // the file changed under our hands
		it.unload(p)
		heap.Pop(&it.parts)
	}
	return nil
}

// makeRoom puts the loaded part away whose next message is furthest.
func (it *iterator) makeRoom() {
	if it.loaded < maxLoaded {
		return
	}
	var furthest *part
	for _, p := range it.parts {
		if p.entries != nil && (furthest == nil || p.key > furthest.key) {
			furthest = p
		}
	}
	if furthest != nil {
		it.unload(furthest)
	}
}

func (it *iterator) memory() []entry {
	n := len(it.spare)
	if n == 0 {
		return make([]entry, 0, 64)
	}
	entries := it.spare[n-1]
	it.spare = it.spare[:n-1]
	return entries
}

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	it.parts, it.spare, it.faults = nil, nil, nil
	it.next = len(it.line.sorted)
	return nil
}

// partHeap implements heap.Interface.
type partHeap []*part

func (h partHeap) Len() int { return len(h) }
func (h partHeap) Less(a, b int) bool {
	if h[a].key != h[b].key {
		return h[a].key < h[b].key
	}
	return h[a].chunk < h[b].chunk
}
func (h partHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *partHeap) Push(x any)   { *h = append(*h, x.(*part)) }

func (h *partHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
