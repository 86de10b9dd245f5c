package sqlite3

import (
	"encoding/binary"
	"errors"

	"rosbagd/storage"
)

var errUnused = errors.New("page belongs to nothing, so what led to it was lost")

// checkUnused makes sure that every page is part of something. used has the overflow pages of messages, and p knows the
// nodes of the trees of the messages; the other trees are gone through here. Nothing that is in these is read, so when
// one of them is damaged nothing is told.
func (p *pages) checkUnused(r *Reader, used *bitmap) error {
	for _, root := range append([]uint32{1}, r.roots...) {
		if root == r.messages.root || root == r.index {
			continue
		}
		if err := p.walkTree(root, used, 0); err != nil {
			return notCorruption(err)
		}
	}
	if err := p.freePages(func(n uint32) { used.add(n) }); err != nil {
		return notCorruption(err)
	}
	for n := uint32(1); n <= p.count; n++ {
		if !used.has(n) && !p.checked.has(n) && !p.reserved(n) {
			return p.corrupt(n, errUnused)
		}
	}
	return nil
}

func notCorruption(err error) error {
	if storage.IsCorruption(err) {
		return nil
	}
	return err
}

// reserved tells of pages that are in no tree: that with the bytes which are locked, and those that point back to
// parents (fileformat2, sections 1.3 and 1.8).
func (p *pages) reserved(n uint32) bool {
	locked := uint32(pendingByte/p.pageSize) + 1
	if n == locked {
		return true
	}
	if !p.mapped || n < 2 {
		return false
	}
	each := uint32(p.usable/5) + 1
	return (n-2)%each == 0 || n == locked+1 && (locked-2)%each == 0
}

// walkTree marks the pages of a tree of any kind, with overflow pages.
func (p *pages) walkTree(page uint32, used *bitmap, depth int) error {
	if depth > maxDepth || page == 0 || page > p.count || !used.add(page) {
		return p.corrupt(page, errDepth)
	}
	data, err := p.page(page)
	if err != nil {
		return err
	}
	n, err := p.parseNode(page, data)
	if err != nil {
		return err
	}
	for i := range n.cells {
		c, err := p.cell(&n, i)
		if err != nil {
			return err
		}
		if c.next != 0 {
			if err := p.links(page, &c, func(n uint32) { used.add(n) }); err != nil {
				return err
			}
		}
		if c.left != 0 {
			if err := p.walkTree(c.left, used, depth+1); err != nil {
				return err
			}
		}
	}
	if n.right != 0 {
		return p.walkTree(n.right, used, depth+1)
	}
	return nil
}

// freePages visits the pages that SQLite no longer uses (fileformat2, section 1.5).
func (p *pages) freePages(visit func(n uint32)) error {
	var trunks bitmap
	for trunk := p.freelist; trunk != 0; {
		data, err := p.page(trunk)
		if err != nil {
			return err
		}
		if !trunks.add(trunk) {
			return p.corrupt(trunk, errDepth)
		}
		visit(trunk)
		n := int(binary.BigEndian.Uint32(data[4:]))
		for i := 0; i < n && 8+4*i+4 <= p.usable; i++ {
			if page := binary.BigEndian.Uint32(data[8+4*i:]); page <= p.count {
				visit(page)
			}
		}
		trunk = binary.BigEndian.Uint32(data)
	}
	return nil
}

// reachesEnd tells whether the last page of the file is where it is expected, at an end of one of the trees: what is
// written last is there, as long as time stamps are more or less in order. Where it is not, trees may be older than the
// file.
func (p *pages) reachesEnd(roots []uint32) (bool, error) {
	last := p.count
	for last > 1 && p.reserved(last) {
		last--
	}
	reached := last <= 1
	visit := func(n uint32) { reached = reached || n == last }
	for _, root := range append([]uint32{1}, roots...) {
		if err := p.visitEnd(root, visit); err != nil && !storage.IsCorruption(err) {
			return false, err
		}
	}
	if !reached {
		if err := p.freePages(visit); err != nil && !storage.IsCorruption(err) {
			return false, err
		}
	}
	return reached, nil
}

// visitEnd visits the pages at the end of a tree: the last leaf with its overflow pages, what leads there, and what
// stands beside these.
func (p *pages) visitEnd(page uint32, visit func(n uint32)) error {
	for depth := 0; ; depth++ {
		if depth > maxDepth {
			return p.corrupt(page, errDepth)
		}
		visit(page)
		data, err := p.page(page)
		if err != nil {
			return err
		}
		n, err := p.parseNode(page, data)
		if err != nil {
			return err
		}
		for i := range n.cells {
			c, err := p.cell(&n, i)
			if err != nil {
				return err
			}
			if c.left != 0 {
				visit(c.left)
			}
			if c.next != 0 {
				if err := p.links(page, &c, visit); err != nil {
					return err
				}
			}
		}
		if n.right == 0 {
			return nil
		}
		page = n.right
	}
}

// suspect goes through all of the file, once, when row ids are missing on the way: they may have been deleted, or what
// led to them was lost. It gives the damage that is found.
func (r *Reader) suspect(p *pages) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.suspected || r.salvaged != nil {
		return nil
	}
	_, err := r.checkAll(p.snapshot.reader())
	if err == nil || storage.IsCorruption(err) {
		r.suspected = true
	}
	return err
}
