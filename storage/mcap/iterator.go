package mcap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// When many chunks overlap, at most loadedBytes of them are in memory, or loadedChunks if these are larger. The rest are
// remembered by their next time and read again when it comes.
const (
	loadedBytes  = 16 << 20
	loadedChunks = 4
)

// iterator merges chunks by time. Each opened chunk is a part of the heap, ordered by its next message.
type iterator struct {
	reader *Reader
	query  storage.Query
	wanted []storage.TopicID // by channel id: topic id + 1, 0 for not wanted
	agenda agenda

	parts  partHeap
	due    int64   // least key that a chunk which is not in parts can have
	last   bool    // every chunk is in parts, or done
	loaded []*part // those of parts that are in memory
	size   int     // bytes of loaded
	faults []error // to be returned once each
	spare  [][]entry
}

func newIterator(r *Reader, line *timeline, query storage.Query) *iterator {
	it := &iterator{reader: r, query: query, due: -1 << 63}
	it.agenda = agenda{
		reader: r, line: line, query: query, next: line.seek(query.FromNanos),
		wants: func(channel uint16) bool { return it.topic(channel) != 0 },
	}
	selected := func(storage.TopicID) bool { return true }
	if query.Topics != nil {
		asked := make(map[storage.TopicID]struct{}, len(query.Topics))
		for _, id := range query.Topics {
			asked[id] = struct{}{}
		}
		selected = func(id storage.TopicID) bool {
			_, ok := asked[id]
			return ok
		}
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
		if len(it.parts) > 0 && (it.parts[0].key < it.due || it.last) && len(it.faults) == 0 {
			p := it.parts[0]
			if p.entries != nil {
				m := p.message(it)
				it.advance(p)
				return m, nil
			}
			if err := it.reload(p); err != nil {
				return storage.Message{}, err
			}
			continue
		}
		if len(it.faults) > 0 {
			err := it.faults[0]
			it.faults = it.faults[1:]
			return storage.Message{}, err
		}
		if it.last {
			return storage.Message{}, io.EOF
		}
		if err := it.open(); err != nil {
			return storage.Message{}, err
		}
	}
}

// open opens the next chunk if it may hold the next message, or finds out when it is due.
func (it *iterator) open() error {
	now := int64(1<<63 - 1)
	if len(it.parts) > 0 {
		now = it.parts[0].key
	}
	first, ok, err := it.agenda.peek(now)
	if err != nil {
		return err
	}
	it.due, it.last = first, !ok
	if !ok || first > now {
		return nil
	}
	p := &part{ref: it.agenda.pop()}
	if err := it.load(p); err != nil {
		return err
	}
	if len(p.entries) == 0 {
		it.unload(p)
	} else {
		p.key = p.entries[0].key
		it.parts.push(p)
	}
	it.due = -1 << 63
	return nil
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
			it.parts.sink()
		}
		return
	}
	it.unload(p)
	it.parts.pop()
}

// unload gives the memory of a part back.
func (it *iterator) unload(p *part) {
	if i := slices.Index(it.loaded, p); i >= 0 {
		it.loaded = slices.Delete(it.loaded, i, i+1)
	}
	it.free(p)
}

func (it *iterator) free(p *part) {
	it.size -= p.size()
	if len(it.spare) < loadedChunks {
		it.spare = append(it.spare, p.entries[:0])
	}
	p.entries, p.records = nil, nil
}

// load reads a chunk and sorts its wanted messages. Damage becomes a fault; what was good before it stays.
func (it *iterator) load(p *part) error {
	it.makeRoom()
	p.entries = it.memory()
	it.loaded = append(it.loaded, p)
	records, err := it.reader.load(p.ref)
	if err != nil && !storage.IsCorruption(err) {
		return err
	}
	if err == nil {
		p.records = records
		err = it.sort(p)
	}
	it.size += p.size()
	if err != nil && !p.ref.told {
		it.faults = append(it.faults, err)
	}
	return nil
}

// sort finds the wanted messages of a part.
func (it *iterator) sort(p *part) error {
	strangers := 0
	sorted := true
	line := it.agenda.line
	at, err := walk(p.records, func(op mcaplib.OpCode, body []byte, at int) error {
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
		key := line.key(p.ref.position, m)
		if n := len(p.entries); n > 0 && key < p.entries[n-1].key {
			sorted = false
		}
		p.entries = append(p.entries, entry{key: key, at: at})
		return nil
	})
	if !sorted {
		slices.SortStableFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	}
	if err != nil {
		return it.reader.corrupt(p.ref.offset, fmt.Errorf("at byte %d of chunk: %w", at, err))
	}
	if strangers > 0 {
		return it.reader.corrupt(p.ref.offset, fmt.Errorf("%d times %w", strangers, errNoChannel))
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
		it.parts.pop()
	}
	return nil
}

// makeRoom puts the loaded parts away whose next messages are furthest, half of them at once.
func (it *iterator) makeRoom() {
	if it.size <= loadedBytes || len(it.loaded) < loadedChunks {
		return
	}
	slices.SortFunc(it.loaded, func(a, b *part) int { return cmp.Compare(a.key, b.key) })
	for it.size > loadedBytes/2 && len(it.loaded) >= loadedChunks {
		last := len(it.loaded) - 1
		it.free(it.loaded[last])
		it.loaded = it.loaded[:last]
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
	it.parts, it.loaded, it.spare, it.faults = nil, nil, nil, nil
	it.agenda.close()
	it.last = true
	return nil
}
