package sqlite3

import (
	"errors"
	"fmt"
	"io"
	"math"

	"rosbagd/storage"
)

// A batch is what is read before it is made sure that nobody wrote into the file meanwhile.
const (
	batchRows  = 4096 // looked at
	batchBytes = 1 << 20
)

// iterator reads messages in batches. Between them it holds nothing but its place: the key of the last row.
type iterator struct {
	reader *Reader
	query  storage.Query
	wanted []bool // by topic, nil for all

	rows   int // of the next batch; the first is small, so that it is there soon
	place  key // the last row that was looked at
	begun  bool
	ended  bool
	source source
	dirty  bool // source was used in a batch that did not count
	// salvaged tells that source goes through what was found in a damaged file.
	salvaged bool
	told     bool // that there are messages of topics that are not listed

	ready  []storage.Message
	places []int64 // of the pages of ready
	given  int
	fault  error // to be returned after what is ready
}

// source gives rows in an order, from behind a place on.
type source interface {
	// next gives the next row and its key; io.EOF is the end.
	next() (cell, uint32, row, key, error)
	pages() *pages
}

func newIterator(r *Reader, query storage.Query) *iterator {
	it := &iterator{reader: r, query: query, rows: 16}
	if query.Topics != nil {
		it.wanted = make([]bool, len(r.info.Topics))
		for _, id := range query.Topics {
			if id >= 0 && int(id) < len(it.wanted) {
				it.wanted[id] = true
			}
		}
		it.ended = len(query.Topics) == 0
	}
	return it
}

// Next implements storage.Iterator.
func (it *iterator) Next() (storage.Message, error) {
	m, _, err := it.nextAt()
	return m, err
}

// nextAt is Next with the place of the message's page.
func (it *iterator) nextAt() (storage.Message, int64, error) {
	for {
		if it.given < len(it.ready) {
			m := it.ready[it.given]
			it.ready[it.given] = storage.Message{} // it must not be kept from being freed here
			it.given++
			return m, it.places[it.given-1], nil
		}
		if it.fault != nil {
			err := it.fault
			it.fault = nil
			return storage.Message{}, 0, err
		}
		if it.ended {
			return storage.Message{}, 0, io.EOF
		}
		if err := it.fill(); err != nil {
			return storage.Message{}, 0, err
		}
	}
}

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	it.ended, it.ready, it.source, it.fault = true, nil, nil, nil
	return nil
}

// fill reads a batch.
func (it *iterator) fill() error {
	var place key
	var begun, ended bool
	var damage, foreign error
	var stuck bool
	err := it.reader.db.read(func(s *snapshot, try int) error {
		it.ready, it.places, it.given = it.ready[:0], it.places[:0], 0
		place, begun, ended, damage, foreign, stuck = it.place, it.begun, false, nil, nil, false
		if it.source == nil || it.dirty || it.source.pages().snapshot != s {
			var err error
			if it.source, err = it.open(s); err != nil {
				if !storage.IsCorruption(err) {
					return err
				}
				damage, stuck = err, true
				return nil
			}
		}
		it.dirty = true
		bytes := 0
		for n := 0; n < max(min(batchRows, it.rows)>>try, 4) && bytes < max(batchBytes>>try, 1); n++ {
			c, page, r, k, err := it.source.next()
			if errors.Is(err, io.EOF) {
				ended = true
				return nil
			}
			if stuck = err != nil; !stuck {
				place, begun = k, true
				err = it.take(page, &c, r, k)
			}
			switch {
			case errors.Is(err, errTopicID):
				foreign = err
			case storage.IsCorruption(err):
				damage = err
				return nil
			case err != nil:
				return err
			}
			if len(it.ready) > 0 {
				bytes += len(it.ready[len(it.ready)-1].Data)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	it.dirty, it.rows = false, min(4*it.rows, batchRows)
	it.place, it.begun, it.ended = place, begun, ended
	if foreign != nil && !it.told && damage == nil {
		it.fault, it.told = foreign, true
	}
	if damage != nil {
		return it.meet(damage, stuck)
	}
	return nil
}

// meet tells of damage and goes on with what can be found behind it. stuck tells that the way to the next message is
// lost, and not only one message.
func (it *iterator) meet(damage error, stuck bool) error {
	it.fault = damage
	if it.salvaged {
		it.ended = stuck
		return nil
	}
	it.source, it.salvaged = nil, true
	return it.reader.salvage(damage)
}

// take adds a row to the batch if it is asked for.
func (it *iterator) take(page uint32, c *cell, r row, k key) error {
	if !it.salvaged && k.id > it.reader.lastID || !it.inTime(r.nanos) {
		return nil
	}
	topic, ok := it.reader.topics[r.topic]
	if !ok {
		if it.reader.info.Damage != "" || it.salvaged {
			return nil // it was told when the file was opened
		}
		return it.source.pages().corrupt(page, fmt.Errorf("%w: id %d", errTopicID, r.topic))
	}
	if it.wanted != nil && !it.wanted[topic] {
		return nil
	}
	m, err := it.reader.messages.message(it.source.pages(), page, c, r, topic)
	if err != nil {
		return err
	}
	it.ready = append(it.ready, m)
	it.places = append(it.places, it.source.pages().offset(page))
	return nil
}

func (it *iterator) inTime(nanos int64) bool {
	return (it.query.FromNanos == 0 || nanos >= it.query.FromNanos) && (!it.query.HasUntil || nanos <= it.query.UntilNanos)
}

// open makes the source of the order asked for, at the place of the iterator.
func (it *iterator) open(s *snapshot) (source, error) {
	r := it.reader
	p := s.reader()
	r.mu.Lock()
	found := r.salvaged
	r.mu.Unlock()
	it.salvaged = found != nil
	if found != nil && it.query.Order == storage.ByFile {
		source := &salvageSource{salvageScanner: salvageScanner{salvage: found, p: p}, after: it.place.id, begun: it.begun}
		if it.begun {
			source.seek(it.place.id)
		}
		return source, nil
	}
	if it.query.Order == storage.ByFile {
		return newFileSource(p, r, it.place.id, it.begun)
	}
	from := key{math.MinInt64, math.MinInt64}
	if it.query.FromNanos != 0 {
		from.nanos = it.query.FromNanos
	}
	if it.begun && from.less(it.place) {
		from = it.place
	}
	until := int64(math.MaxInt64)
	if it.query.HasUntil {
		until = it.query.UntilNanos
	}
	if found != nil {
		return newWindowSource(&salvageScanner{salvage: found, p: p}, from, it.begun, until), nil
	}
	if r.index == 0 {
		scan := &tableScanner{p: p, layout: &r.messages, cursor: p.table(r.messages.root)}
		return newWindowSource(scan, from, it.begun, until), nil
	}
	return newIndexSource(p, r, from, it.begun, until)
}

// fileSource gives rows by id.
type fileSource struct {
	p      *pages
	reader *Reader
	cursor *tableCursor
	last   int64
	begun  bool
}

func newFileSource(p *pages, r *Reader, after int64, begun bool) (*fileSource, error) {
	f := &fileSource{p: p, reader: r, cursor: p.table(r.messages.root), last: after, begun: begun}
	from := int64(math.MinInt64)
	if begun {
		if after == math.MaxInt64 {
			return f, nil // an unplaced cursor is at its end
		}
		from = after + 1
	}
	return f, f.cursor.seek(from)
}

func (f *fileSource) pages() *pages { return f.p }

func (f *fileSource) next() (cell, uint32, row, key, error) {
	c, page, ok, err := f.cursor.next()
	if err == nil && !ok {
		err = io.EOF
	}
	if err != nil {
		return cell{}, 0, row{}, key{}, err
	}
	if f.begun && c.rowid != f.last+1 {
		if err := f.reader.suspect(f.p); err != nil {
			return cell{}, 0, row{}, key{}, err
		}
	}
	f.last, f.begun = c.rowid, true
	r, err := f.reader.messages.decode(f.p, page, &c)
	return c, page, r, key{r.nanos, c.rowid}, err
}

// indexSource gives rows by time stamp.
type indexSource struct {
	p      *pages
	reader *Reader
	cursor *indexCursor
	table  *tableCursor
	until  int64
	// As long as ids rise with time, the row behind the last one must be the next one, or the index has lost it.
	sorted bool
	probe  *tableCursor
	last   key
	begun  bool
}

var errIndex = errors.New("index and table do not agree")

func newIndexSource(p *pages, r *Reader, from key, after bool, until int64) (*indexSource, error) {
	s := &indexSource{p: p, reader: r, cursor: p.index(r.index), table: p.table(r.messages.root), until: until, sorted: true, probe: p.table(r.messages.root)}
	if err := s.cursor.seek(from); err != nil {
		return nil, err
	}
	if after {
		return s, s.cursor.skip(from)
	}
	return s, nil
}

func (s *indexSource) pages() *pages { return s.p }

func (s *indexSource) next() (cell, uint32, row, key, error) {
	k, ok, err := s.cursor.next()
	end := err == nil && (!ok || k.nanos > s.until)
	if end && !ok {
		k = key{math.MaxInt64, math.MaxInt64}
	}
	if err == nil {
		err = s.missed(k)
	}
	if err == nil && end {
		err = io.EOF
	}
	if err != nil {
		return cell{}, 0, row{}, key{}, err
	}
	c, page, ok, err := s.table.find(k.id)
	if err == nil && !ok {
		err = s.p.corrupt(max(page, 1), errIndex)
	}
	if err != nil {
		return cell{}, 0, row{}, key{}, err
	}
	r, err := s.reader.messages.decode(s.p, page, &c)
	if err == nil && r.nanos != k.nanos {
		err = s.p.corrupt(page, errIndex)
	}
	return c, page, r, k, err
}

// missed makes sure that the table has no row between the last key and k.
func (s *indexSource) missed(k key) error {
	last, begun := s.last, s.begun
	s.last, s.begun = k, true
	if !s.sorted || !begun || last.id == math.MaxInt64 || k.id == last.id+1 {
		return nil
	}
	if err := s.probe.seek(last.id + 1); err != nil {
		return err
	}
	c, page, ok, err := s.probe.next()
	if err != nil || !ok {
		return err
	}
	if c.rowid == k.id {
		return s.reader.suspect(s.p)
	}
	r, err := s.reader.messages.decode(s.p, page, &c)
	if err != nil {
		return err
	}
	if between := (key{r.nanos, c.rowid}); last.less(between) && between.less(k) {
		s.last = last
		return s.p.corrupt(s.cursor.root, errIndex)
	}
	s.sorted = false
	return nil
}
