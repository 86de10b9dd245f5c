package sqlite3

import (
	"math"
	"sort"
)

// maxDepth is more than any tree needs: an interior page has at least two children.
const maxDepth = 32

// tableCursor goes through a table by row id.
type tableCursor struct {
	p     *pages
	root  uint32
	stack []tableFrame // interior pages; at is the child that is visited
	leaf  node
	at    int // next cell of leaf
	low   int64
	high  int64 // row ids that leaf may have
	valid bool  // leaf is set
}

type tableFrame struct {
	node
	at        int
	low, high int64
}

func (p *pages) table(root uint32) *tableCursor { return &tableCursor{p: p, root: root} }

// seek goes to the first row whose id is not below rowid.
func (c *tableCursor) seek(rowid int64) error {
	c.stack, c.valid = c.stack[:0], false
	return c.descend(c.root, math.MinInt64, math.MaxInt64, rowid)
}

func (c *tableCursor) descend(page uint32, low, high, rowid int64) error {
	for {
		if len(c.stack) > maxDepth {
			return c.p.corrupt(page, errDepth)
		}
		n, err := c.p.node(page, false)
		if err != nil {
			return err
		}
		if err := c.checkBounds(&n, low, high); err != nil {
			return err
		}
		var searchErr error
		at := sort.Search(n.cells, func(i int) bool {
			entry, err := c.p.cell(&n, i)
			if err != nil {
				searchErr = err
			}
			return entry.rowid >= rowid
		})
		if searchErr != nil {
			return searchErr
		}
		if n.kind == tableLeaf {
			c.leaf, c.at, c.low, c.high, c.valid = n, at, low, high, true
			return nil
		}
		c.stack = append(c.stack, tableFrame{node: n, at: at, low: low, high: high})
		if page, low, high, err = c.child(&c.stack[len(c.stack)-1]); err != nil {
			return err
		}
	}
}

// checkBounds makes sure that a page has only row ids that its parents say it has.
func (c *tableCursor) checkBounds(n *node, low, high int64) error {
	if n.cells == 0 {
		return nil
	}
	first, err := c.p.cell(n, 0)
	if err != nil {
		return err
	}
	last, err := c.p.cell(n, n.cells-1)
	if err != nil {
		return err
	}
	if first.rowid < low || last.rowid > high {
		return c.p.corrupt(n.page, errOrder)
	}
	return nil
}

func (c *tableCursor) child(f *tableFrame) (page uint32, low, high int64, err error) {
	low, high = f.low, f.high
	if f.at > 0 {
		before, err := c.p.cell(&f.node, f.at-1)
		if err != nil {
			return 0, 0, 0, err
		}
		low = before.rowid + 1
	}
	if f.at == f.cells {
		return f.right, low, high, nil
	}
	entry, err := c.p.cell(&f.node, f.at)
	return entry.left, low, entry.rowid, err
}

// next gives the row that the cursor stands at, with the page that it is in, and goes on; ok is false at the end.
func (c *tableCursor) next() (row cell, page uint32, ok bool, err error) {
	for c.valid {
		if c.at < c.leaf.cells {
			row, err = c.p.cell(&c.leaf, c.at)
			c.at++
			return row, c.leaf.page, err == nil, err
		}
		if ok, err := c.nextLeaf(); err != nil || !ok {
			return cell{}, 0, false, err
		}
	}
	return cell{}, 0, false, nil
}

func (c *tableCursor) nextLeaf() (bool, error) {
	c.valid = false
	for len(c.stack) > 0 {
		f := &c.stack[len(c.stack)-1]
		if f.at == f.cells {
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		f.at++
		page, low, high, err := c.child(f)
		if err != nil {
			return false, err
		}
		return true, c.descend(page, low, high, math.MinInt64)
	}
	return false, nil
}

// find gives the row with this id. Looking for ids that are near each other reads no page twice.
func (c *tableCursor) find(rowid int64) (row cell, page uint32, ok bool, err error) {
	if !c.valid || rowid < c.low || rowid > c.high {
		if err := c.step(rowid); err != nil {
			return cell{}, 0, false, err
		}
	}
	if c.at < c.leaf.cells {
		row, err := c.p.cell(&c.leaf, c.at)
		if err != nil {
			return cell{}, 0, false, err
		}
		if row.rowid == rowid {
			c.at++
			return row, c.leaf.page, true, nil
		}
	}
	var searchErr error
	at := sort.Search(c.leaf.cells, func(i int) bool {
		entry, err := c.p.cell(&c.leaf, i)
		if err != nil {
			searchErr = err
		}
		return entry.rowid >= rowid
	})
	if searchErr != nil || at == c.leaf.cells {
		return cell{}, 0, false, searchErr
	}
	row, err = c.p.cell(&c.leaf, at)
	c.at = at + 1
	return row, c.leaf.page, err == nil && row.rowid == rowid, err
}

// step goes to the leaf that has rowid, which often is the next one.
func (c *tableCursor) step(rowid int64) error {
	if c.valid && rowid == c.high+1 && c.high != math.MaxInt64 {
		ok, err := c.nextLeaf()
		if err != nil {
			return err
		}
		if ok && rowid >= c.low && rowid <= c.high {
			return nil
		}
	}
	return c.seek(rowid)
}

// last gives the row with the largest id.
func (c *tableCursor) last() (row cell, page uint32, ok bool, err error) {
	if err := c.seek(math.MaxInt64); err != nil {
		return cell{}, 0, false, err
	}
	if c.leaf.cells == 0 {
		return cell{}, 0, false, nil
	}
	row, err = c.p.cell(&c.leaf, c.leaf.cells-1)
	return row, c.leaf.page, err == nil, err
}

// key is an entry of the index on time stamps: messages by log time, equal times by id.
type key struct {
	nanos int64
	id    int64
}

func (k key) less(other key) bool {
	return k.nanos < other.nanos || k.nanos == other.nanos && k.id < other.id
}

// indexCursor goes through the index by key.
type indexCursor struct {
	p     *pages
	root  uint32
	stack []indexFrame
	last  key
	begun bool // last is set
}

// indexFrame is a page on the way; at is the child that is visited, or the next cell of a leaf.
type indexFrame struct {
	node
	at int
}

func (p *pages) index(root uint32) *indexCursor { return &indexCursor{p: p, root: root} }

// seek goes to the first entry that is not below k.
func (c *indexCursor) seek(k key) error {
	c.stack, c.begun = c.stack[:0], false
	return c.descend(c.root, func(n *node) (int, error) {
		var searchErr error
		at := sort.Search(n.cells, func(i int) bool {
			entry, err := c.key(n, i)
			if err != nil {
				searchErr = err
			}
			return !entry.less(k)
		})
		return at, searchErr
	})
}

func (c *indexCursor) descend(page uint32, choose func(*node) (int, error)) error {
	for {
		if len(c.stack) > maxDepth {
			return c.p.corrupt(page, errDepth)
		}
		n, err := c.p.node(page, true)
		if err != nil {
			return err
		}
		at, err := choose(&n)
		if err != nil {
			return err
		}
		c.stack = append(c.stack, indexFrame{node: n, at: at})
		if n.kind == indexLeaf {
			return nil
		}
		if page, err = c.p.child(&n, at); err != nil {
			return err
		}
	}
}

func (c *indexCursor) key(n *node, i int) (key, error) {
	entry, err := c.p.cell(n, i)
	if err != nil {
		return key{}, err
	}
	var space [2]column
	columns, err := parseRecord(space[:0], entry.local, entry.payload)
	if err != nil || len(columns) != 2 {
		return key{}, c.p.corrupt(n.page, errRecord)
	}
	nanos, ok := columns[0].integer(entry.local)
	id, ok2 := columns[1].integer(entry.local)
	if !ok || !ok2 {
		return key{}, c.p.corrupt(n.page, errRecord)
	}
	return key{nanos, id}, nil
}

// next gives the entry that the cursor stands at and goes on; ok is false at the end.
func (c *indexCursor) next() (k key, ok bool, err error) {
	for len(c.stack) > 0 {
		f := &c.stack[len(c.stack)-1]
		if f.at >= f.cells {
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		if k, err = c.key(&f.node, f.at); err != nil {
			return key{}, false, err
		}
		if c.begun && !c.last.less(k) {
			return key{}, false, c.p.corrupt(f.page, errOrder)
		}
		c.last, c.begun = k, true
		f.at++
		if f.kind == indexInterior {
			page, err := c.p.child(&f.node, f.at)
			if err != nil {
				return key{}, false, err
			}
			if err := c.descend(page, func(*node) (int, error) { return 0, nil }); err != nil {
				return key{}, false, err
			}
		}
		return k, true, nil
	}
	return key{}, false, nil
}

// skip goes on behind k when the cursor stands at it.
func (c *indexCursor) skip(k key) error {
	if len(c.stack) == 0 {
		return nil
	}
	next, ok, err := c.peek()
	if err != nil || !ok || next != k {
		return err
	}
	_, _, err = c.next()
	return err
}

func (c *indexCursor) peek() (k key, ok bool, err error) {
	for i := len(c.stack) - 1; i >= 0; i-- {
		if f := &c.stack[i]; f.at < f.cells {
			k, err := c.key(&f.node, f.at)
			return k, err == nil, err
		}
	}
	return key{}, false, nil
}

// end gives the largest entry.
func (c *indexCursor) end() (k key, ok bool, err error) {
	c.stack, c.begun = c.stack[:0], false
	if err := c.descend(c.root, func(n *node) (int, error) { return n.cells, nil }); err != nil {
		return key{}, false, err
	}
	for i := len(c.stack) - 1; i >= 0; i-- {
		if f := &c.stack[i]; f.cells > 0 {
			k, err := c.key(&f.node, f.cells-1)
			return k, err == nil, err
		}
	}
	return key{}, false, nil
}
