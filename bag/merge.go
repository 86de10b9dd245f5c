package bag

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"math"
	"slices"

	"rosbagd/storage"
)

// Query selects messages of a bag; topic ids are those of Reader.Topics.
type Query struct {
	storage.Query
	// OnFile is called by Next before the first message of a file is given: once for each file that has one, also where
	// files overlap in time. closed is the file it was called for before, and empty the first time. A file without
	// such messages that stands behind one that has been begun is passed through like the others, as rosbag2 does.
	OnFile func(closed, opened string)
}

// Messages gives the messages of all files in the order asked for; equal times in the order of the files. A file is
// opened when the first of its messages may be the next one, and closed behind its last, so that no more files are open
// than overlap. Where metadata.yaml tells the times of the files, those outside the time range are not opened at all.
//
// A compressed MCAP file of some size gives its messages while it is still being unpacked, from its start on by log time
// or as they stand in it. By log time they are sorted within 16 MiB, and none is given before the one with which the
// file begins by its metadata; a message that is further out of order is given late, with a note. Any other query, and
// any other file that is compressed as a whole, waits until the file is unpacked.
//
// The time when a message was sent is in no index: by that order every file is read once before the first message,
// unless there is but one. ByFile is file after file in the order of the metadata, as rosbag2 plays.
//
// A file that can not be opened or read on costs its messages: Next returns its error once and goes on with the others.
// When none can be opened, Messages returns the error.
func (r *Reader) Messages(query Query) (storage.Iterator, error) {
	it := &iterator{reader: r, query: query}
	it.collect()
	// The first file is opened now, so that a bag that can't be read fails here and not in the middle of a play.
	var faults []error
	for {
		err := it.openDue()
		if err == nil {
			break
		}
		faults = append(faults, err)
	}
	if len(it.active) == 0 && len(faults) > 0 {
		return nil, faults[0]
	}
	it.faults = faults
	return it, nil
}

// iterator merges the files of a Reader.
type iterator struct {
	reader  *Reader
	query   Query
	pending []waiting // files that are not open yet, the next one last
	active  cursors
	spent   bool // the message of active[0] was given
	faults  []error
	closed  string
	empty   []emptyFile // those that OnFile was not called for
}

type emptyFile struct {
	file     *file
	position int
}

// waiting is a file whose first message has this key or a later one.
type waiting struct {
	file     *file
	position int
	key      int64
	exact    bool // key is that of its first message, and not just of nothing before it
}

// collect lists the files that may have messages.
func (it *iterator) collect() {
	r := it.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range r.files {
		if it.outside(f) {
			if f.described.MessageCount == 0 {
				it.addEmpty(f, i)
			}
			continue
		}
		w := waiting{file: f, position: i, key: math.MinInt64}
		switch it.query.Order {
		case storage.ByFile:
			w.key, w.exact = int64(i), true
		case storage.ByLogTime:
			if f.known {
				w.key, w.exact = f.described.StartNanos, true
			}
		case storage.ByPublishTime:
			if f.hasFirstSent {
				w.key, w.exact = f.firstSent, true
			}
		}
		it.pending = append(it.pending, w)
	}
	if len(it.pending) == 1 {
		it.pending[0].exact = true
	}
	slices.SortFunc(it.pending, func(a, b waiting) int { return -compareWaiting(a, b) })
}

func compareWaiting(a, b waiting) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.position, b.position))
}

// outside is called with Reader.mu held.
func (it *iterator) outside(f *file) bool {
	if !f.known {
		return false
	}
	if f.described.MessageCount == 0 {
		return true
	}
	times := f.member.narrowed(it.query.Query)
	return f.endNanos < times.FromNanos || (times.HasUntil && f.described.StartNanos > times.UntilNanos)
}

// openDue opens every file that may have the next message. After an error the next call goes on behind the file.
func (it *iterator) openDue() error {
	for len(it.pending) > 0 {
		next := it.pending[len(it.pending)-1]
		if len(it.active) > 0 && next.key > it.active[0].key {
			return nil
		}
		it.pending = it.pending[:len(it.pending)-1]
		if !next.exact {
			if err := it.postpone(next); err != nil {
				return err
			}
			continue
		}
		c, err := it.open(next)
		if err != nil {
			return err
		}
		if err := it.push(c); err != nil {
			return err
		}
	}
	return nil
}

// postpone finds out when the messages of a file begin and puts it back to where it belongs.
func (it *iterator) postpone(w waiting) error {
	r := it.reader
	info, err := r.learn(w.file)
	if err != nil {
		return err
	}
	if it.query.Order == storage.ByPublishTime {
		if err := r.learnFirstSent(w.file); err != nil {
			return err
		}
	}
	r.mu.Lock()
	outside := info.MessageCount == 0 || it.outside(w.file)
	w.key, w.exact = info.StartNanos, true
	if it.query.Order == storage.ByPublishTime {
		w.key = w.file.firstSent
	}
	r.mu.Unlock()
	if outside {
		if info.MessageCount == 0 {
			it.addEmpty(w.file, w.position)
		}
		return nil
	}
	at, _ := slices.BinarySearchFunc(it.pending, w, func(a, b waiting) int { return -compareWaiting(a, b) })
	it.pending = slices.Insert(it.pending, at, w)
	return nil
}

// learnFirstSent finds the smallest publish time of a file.
func (r *Reader) learnFirstSent(f *file) (err error) {
	r.mu.Lock()
	known := f.hasFirstSent
	r.mu.Unlock()
	if known {
		return nil
	}
	reader, err := r.acquire(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.release(f)) }()
	m, found, err := firstMessage(reader, storage.Query{Order: storage.ByPublishTime})
	if err != nil {
		return err
	}
	first := int64(math.MaxInt64)
	if found {
		first = m.PublishTimeNanos
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f.firstSent, f.hasFirstSent = first, true
	return nil
}

// narrowed is a query within the times that are wanted of the bag.
func (m *member) narrowed(query storage.Query) storage.Query {
	asked := TimeRange{FromNanos: query.FromNanos, UntilNanos: query.UntilNanos, HasUntil: query.HasUntil}
	times := asked.Intersect(m.times)
	query.FromNanos, query.UntilNanos, query.HasUntil = times.FromNanos, times.UntilNanos, times.HasUntil
	return query
}

// open begins to read a file.
func (it *iterator) open(w waiting) (*cursor, error) {
	r := it.reader
	c := &cursor{file: w.file, position: w.position}
	streamed, err := r.streamFor(w.file, w.file.member.narrowed(it.query.Query))
	if err != nil {
		return nil, err
	}
	if streamed != nil {
		c.inner = streamed
		return c, nil
	}
	reader, err := r.acquire(w.file)
	if err != nil {
		return nil, err
	}
	c.held = true
	r.mu.Lock()
	c.topics = w.file.topics
	r.mu.Unlock()
	if c.inner, err = reader.Messages(fileQuery(w.file.member.narrowed(it.query.Query), c.topics)); err != nil {
		return nil, errors.Join(err, r.release(w.file))
	}
	return c, nil
}

// fileQuery names the topics of a query as a file does.
func fileQuery(query storage.Query, topics []storage.TopicID) storage.Query {
	if query.Topics == nil {
		return query
	}
	asked := make(map[storage.TopicID]struct{}, len(query.Topics))
	for _, topic := range query.Topics {
		asked[topic] = struct{}{}
	}
	wanted := []storage.TopicID{}
	for id, topic := range topics {
		if _, ok := asked[topic]; ok {
			wanted = append(wanted, storage.TopicID(id))
		}
	}
	query.Topics = wanted
	return query
}

// push puts a file among the active ones, with its first message.
func (it *iterator) push(c *cursor) error {
	for {
		done, err := it.step(c)
		if err != nil {
			if done {
				return err
			}
			it.faults = append(it.faults, err)
			continue
		}
		if done {
			it.addEmpty(c.file, c.position)
			return nil
		}
		heap.Push(&it.active, c)
		return nil
	}
}

// step takes the next message of a file. When there is none or none can be had, the file is done and given back.
func (it *iterator) step(c *cursor) (done bool, err error) {
	m, err := c.inner.Next()
	if err == nil {
		if c.topics != nil {
			m.Topic = c.topics[m.Topic]
		}
		c.message = m
		switch it.query.Order {
		case storage.ByFile:
			c.key = int64(c.position)
		case storage.ByPublishTime:
			c.key = m.PublishTimeNanos
		default:
			c.key = m.LogTimeNanos
		}
		return false, nil
	}
	if storage.IsCorruption(err) {
		return false, err
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return true, errors.Join(err, it.leave(c))
}

func (it *iterator) leave(c *cursor) error {
	err := c.inner.Close()
	if c.held {
		err = errors.Join(err, it.reader.release(c.file))
	}
	return err
}

// Next implements storage.Iterator.
func (it *iterator) Next() (storage.Message, error) {
	if it.spent {
		it.spent = false
		c := it.active[0]
		done, err := it.step(c)
		switch {
		case done:
			heap.Pop(&it.active)
		case err != nil:
			it.spent = true
		case len(it.active) > 1:
			heap.Fix(&it.active, 0)
		}
		if err != nil {
			return storage.Message{}, err
		}
	}
	if len(it.pending) > 0 && len(it.faults) == 0 {
		if err := it.openDue(); err != nil {
			return storage.Message{}, err
		}
	}
	if len(it.faults) > 0 {
		err := it.faults[0]
		it.faults = it.faults[1:]
		return storage.Message{}, err
	}
	if len(it.active) == 0 {
		it.passEmpty(len(it.reader.files))
		return storage.Message{}, io.EOF
	}
	c := it.active[0]
	it.spent = true
	if !c.told {
		it.tell(c)
	}
	return it.reader.unpackMessage(c.file, c.message)
}

func (it *iterator) tell(c *cursor) {
	c.told = true
	it.passEmpty(c.position)
	it.enter(c.file)
}

func (it *iterator) addEmpty(f *file, position int) {
	it.empty = append(it.empty, emptyFile{f, position})
	slices.SortFunc(it.empty, func(a, b emptyFile) int { return cmp.Compare(a.position, b.position) })
}

// passEmpty goes through the files without messages in front of a position.
func (it *iterator) passEmpty(position int) {
	for len(it.empty) > 0 && it.empty[0].position < position {
		if it.closed != "" {
			it.enter(it.empty[0].file)
		}
		it.empty = it.empty[1:]
	}
}

func (it *iterator) enter(f *file) {
	if it.query.OnFile != nil {
		it.query.OnFile(it.closed, f.path)
	}
	it.closed = f.path
}

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	var errs []error
	for _, c := range it.active {
		errs = append(errs, it.leave(c))
	}
	it.active, it.pending, it.faults, it.spent = nil, nil, nil, false
	return errors.Join(errs...)
}
