package sqlite3

import (
	"math"

	"rosbagd/storage"
)

// checkedLen is the size up to which a file is gone through when it is opened. A larger one is looked at at its ends,
// where a sudden end leaves its traces; what is wrong elsewhere in it turns up when it is read.
const checkedLen = 16 << 20

// check looks for damage that reading would only find later, or not at all. It counts the messages of a small file on
// the way.
func (r *Reader) check(p *pages) error {
	if p.short {
		return p.corrupt(p.count, storage.ErrEndsEarly)
	}
	if int64(p.count)*int64(p.pageSize) > r.checked {
		if err := r.checkEnds(p); err != nil {
			return err
		}
		reached, err := p.reachesEnd(r.roots)
		if err != nil || reached {
			return err
		}
	}
	var err error
	r.counted, err = r.checkAll(p)
	return err
}

// sum is a digest of keys that does not depend on their order.
type sum struct {
	keys   uint64
	digest uint64
}

func (s *sum) add(k key) {
	s.keys++
	x := uint64(k.nanos)*0x9e3779b97f4a7c15 ^ uint64(k.id)
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	s.digest += x ^ x>>32
}

// checkAll follows the table, all overflow pages and the index, compares the one with the other, and makes sure that no
// page is left which nothing leads to: where the table and the index are both as they were some time ago, they agree.
func (r *Reader) checkAll(p *pages) (*counted, error) {
	var table, index sum
	var used bitmap
	cursor := p.table(r.messages.root)
	if err := cursor.seek(math.MinInt64); err != nil {
		return nil, err
	}
	found := newCounted(len(r.info.Topics))
	for {
		c, page, ok, err := cursor.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		row, err := r.messages.decode(p, page, &c)
		if err != nil {
			return nil, err
		}
		if c.next != 0 {
			shared := false
			if err := p.links(page, &c, func(n uint32) { shared = !used.add(n) || shared }); err != nil {
				return nil, err
			}
			if shared {
				return nil, p.corrupt(page, errOverflow)
			}
		}
		table.add(key{row.nanos, c.rowid})
		found.add(r.topics, c.rowid, row)
	}
	if r.index != 0 {
		entries := p.index(r.index)
		if err := entries.seek(key{math.MinInt64, math.MinInt64}); err != nil {
			return nil, err
		}
		for {
			k, ok, err := entries.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			index.add(k)
		}
		if table != index {
			return nil, p.corrupt(r.index, errIndex)
		}
	}
	return found, p.checkUnused(r, &used)
}

// checkEnds makes sure that the first and the last rows are in the index, and its ends in the table.
func (r *Reader) checkEnds(p *pages) error {
	cursor := p.table(r.messages.root)
	if err := cursor.seek(math.MinInt64); err != nil {
		return err
	}
	if _, _, _, err := cursor.next(); err != nil {
		return err
	}
	if _, _, _, err := cursor.last(); err != nil || r.index == 0 {
		return err
	}
	entries := p.index(r.index)
	for i := range cursor.leaf.cells {
		c, err := p.cell(&cursor.leaf, i)
		if err != nil {
			return err
		}
		row, err := r.messages.decode(p, cursor.leaf.page, &c)
		if err != nil {
			return err
		}
		k := key{row.nanos, c.rowid}
		if err := entries.seek(k); err != nil {
			return err
		}
		got, ok, err := entries.next()
		if err != nil {
			return err
		}
		if !ok || got != k {
			return p.corrupt(r.index, errIndex)
		}
		if c.next != 0 {
			if err := p.links(cursor.leaf.page, &c, func(uint32) {}); err != nil {
				return err
			}
		}
	}
	for _, place := range []func() (key, bool, error){
		func() (key, bool, error) {
			if err := entries.seek(key{math.MinInt64, math.MinInt64}); err != nil {
				return key{}, false, err
			}
			return entries.next()
		},
		entries.end,
	} {
		k, ok, err := place()
		if err != nil || !ok {
			return err
		}
		c, page, ok, err := cursor.find(k.id)
		if err != nil {
			return err
		}
		if !ok {
			return p.corrupt(r.index, errIndex)
		}
		row, err := r.messages.decode(p, page, &c)
		if err != nil {
			return err
		}
		if row.nanos != k.nanos {
			return p.corrupt(page, errIndex)
		}
	}
	return nil
}
