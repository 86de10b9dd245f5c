package sqlite3

import (
	"errors"
	"io"
	"math"
	"slices"
)

// windowKeys bounds the memory for sorting where no index can be used: 16 bytes a key, and twice as many at most.
const windowKeys = 512 << 10

// scanner goes through all rows in the order of the file, as often as it is asked to.
type scanner interface {
	restart() error
	// next gives the next row; io.EOF is the end.
	next() (cell, uint32, row, key, error)
	// find gives a row that was met before.
	find(key) (cell, uint32, row, error)
	pages() *pages
}

// windowSource gives rows by time stamp without an index. It goes through the file, remembers the keys of the earliest
// rows that were not given yet, as many as memory is granted for, gives these, and begins again.
type windowSource struct {
	scanner
	keys  []key
	limit int
	given int
	from  key // the first that is wanted
	until int64
	more  bool // the file has keys behind the last one of keys
}

func newWindowSource(s scanner, from key, after bool, until int64) *windowSource {
	if after {
		if from.id == math.MaxInt64 {
			from = key{from.nanos + 1, math.MinInt64}
		} else {
			from.id++
		}
	}
	return &windowSource{scanner: s, limit: windowKeys, from: from, until: until, more: true}
}

func (w *windowSource) next() (cell, uint32, row, key, error) {
	if w.given == len(w.keys) {
		if !w.more {
			return cell{}, 0, row{}, key{}, io.EOF
		}
		if err := w.collect(); err != nil {
			return cell{}, 0, row{}, key{}, err
		}
		if len(w.keys) == 0 {
			return cell{}, 0, row{}, key{}, io.EOF
		}
	}
	k := w.keys[w.given]
	w.given++
	c, page, r, err := w.find(k)
	return c, page, r, k, err
}

// collect finds the next keys.
func (w *windowSource) collect() error {
	if len(w.keys) > 0 {
		last := w.keys[len(w.keys)-1]
		w.from = key{last.nanos, last.id + 1}
		if last.id == math.MaxInt64 {
			w.from = key{last.nanos + 1, math.MinInt64}
		}
	}
	w.keys, w.given, w.more = w.keys[:0], 0, false
	if err := w.restart(); err != nil {
		return err
	}
	bound, bounded := key{}, false
	for {
		_, _, _, k, err := w.scanner.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if k.less(w.from) || k.nanos > w.until {
			continue
		}
		if bounded && !k.less(bound) {
			continue
		}
		w.keys = append(w.keys, k)
		if len(w.keys) == 2*w.limit {
			w.trim()
			bound, bounded = w.keys[len(w.keys)-1], true
		}
	}
	w.trim()
	return nil
}

// trim keeps the smallest keys.
func (w *windowSource) trim() {
	slices.SortFunc(w.keys, func(a, b key) int {
		switch {
		case a.less(b):
			return -1
		case b.less(a):
			return 1
		}
		return 0
	})
	if len(w.keys) > w.limit {
		w.keys, w.more = w.keys[:w.limit], true
	}
}

// tableScanner scans the tree of the messages table.
type tableScanner struct {
	p      *pages
	layout *layout
	cursor *tableCursor
}

func (s *tableScanner) pages() *pages { return s.p }

func (s *tableScanner) restart() error { return s.cursor.seek(math.MinInt64) }

func (s *tableScanner) next() (cell, uint32, row, key, error) {
	c, page, ok, err := s.cursor.next()
	if err == nil && !ok {
		err = io.EOF
	}
	if err != nil {
		return cell{}, 0, row{}, key{}, err
	}
	r, err := s.layout.decode(s.p, page, &c)
	return c, page, r, key{r.nanos, c.rowid}, err
}

func (s *tableScanner) find(k key) (cell, uint32, row, error) {
	c, page, ok, err := s.cursor.find(k.id)
	if err == nil && !ok {
		err = s.p.corrupt(page, errIndex)
	}
	if err != nil {
		return cell{}, 0, row{}, err
	}
	r, err := s.layout.decode(s.p, page, &c)
	return c, page, r, err
}
