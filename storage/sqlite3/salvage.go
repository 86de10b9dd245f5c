package sqlite3

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"rosbagd/storage"
)

// salvage is what is left of the messages of a damaged file: the leaf pages that have any, found by going through all
// pages. It takes 32 bytes of memory for each leaf page and three bits for each page of the file.
type salvage struct {
	layout layout
	topics map[int64]bool // known ids; nil when they are not known
	leaves []leaf         // by their first row id
	lost   []place        // cells that can not be given, sorted
	losing []place        // to be sorted into lost
	broken uint64         // of these, messages whose payload is incomplete

	tree    bitmap // pages that the tree of the table leads to
	intact  bool   // all of the tree could be followed
	free    bitmap // pages of the free list
	claimed bitmap // overflow pages of a message
	contest bitmap // overflow pages of more than one
}

// leaf is a page with messages.
type leaf struct {
	page        uint32
	first, last int64 // smallest and largest row id
	reach       int64 // largest row id of this leaf and all before it
	tree        bool
}

// place is a cell: its page and its number there.
type place struct {
	page uint32
	cell uint16
}

// salvageRows finds the messages of a damaged file.
func (p *pages) salvageRows(l layout, topics map[int64]bool) (*salvage, error) {
	s := &salvage{layout: l, topics: topics, intact: l.root != 0}
	if s.intact {
		if err := s.walk(p, l.root, 0); err != nil {
			return nil, err
		}
	}
	s.walkFreeList(p)
	if err := s.findLeaves(p); err != nil {
		return nil, err
	}
	steps := []func(*pages) error{s.dropDuplicates, s.claim, s.dropOrphansInChains, s.settle}
	for _, step := range steps {
		if err := step(p); err != nil {
			return nil, err
		}
		s.lost = append(s.lost, s.losing...)
		s.losing = nil
		slices.SortFunc(s.lost, comparePlaces)
	}
	return s, nil
}

func comparePlaces(a, b place) int {
	if a.page != b.page {
		return int(int64(a.page) - int64(b.page))
	}
	return int(a.cell) - int(b.cell)
}

// walk follows the tree of the table as far as it goes.
func (s *salvage) walk(p *pages, page uint32, depth int) error {
	if depth > maxDepth || page == 0 || page > p.count || !s.tree.add(page) {
		s.intact = false
		return nil
	}
	data, err := p.partial(page)
	if err != nil {
		return err
	}
	n, err := p.parseNode(page, data)
	if err != nil || n.kind != tableInterior && n.kind != tableLeaf {
		s.intact = false
		return nil
	}
	if n.kind == tableLeaf {
		return nil
	}
	if p.checkNode(&n) != nil {
		s.intact = false
	}
	for i := range n.cells {
		c, err := p.cell(&n, i)
		if err != nil {
			s.intact = false
			continue
		}
		if err := s.walk(p, c.left, depth+1); err != nil {
			return err
		}
	}
	return s.walk(p, n.right, depth+1)
}

// walkFreeList marks the pages that SQLite no longer uses: what they contain was deleted.
func (s *salvage) walkFreeList(p *pages) {
	_ = p.freePages(func(page uint32) { s.free.add(page) }) // as far as it goes
}

// findLeaves goes through all pages. Leaves outside of the tree count when the tree is damaged, or when all their rows
// are missing from it: then what led to them was lost.
func (s *salvage) findLeaves(p *pages) error {
	var orphans []leaf
	for page := uint32(2); page <= p.count; page++ {
		inTree := s.tree.has(page)
		if s.free.has(page) && !inTree {
			continue
		}
		data, err := p.partial(page)
		if err != nil {
			return err
		}
		if len(data) < 8 || data[0] != tableLeaf && !inTree {
			continue
		}
		found := leaf{page: page, tree: inTree, first: math.MaxInt64, last: math.MinInt64}
		known := false
		s.visitLeaf(p, page, data, func(_ int, c cell, r row) {
			found.first, found.last = min(found.first, c.rowid), max(found.last, c.rowid)
			known = known || s.knows(r.topic)
		})
		switch {
		case found.first > found.last:
		case inTree:
			s.leaves = append(s.leaves, found)
		case known:
			orphans = append(orphans, found)
		}
	}
	slices.SortFunc(s.leaves, func(a, b leaf) int { return cmp.Compare(a.first, b.first) })
	inTree := s.leaves
	for _, orphan := range orphans {
		at := sort.Search(len(inTree), func(i int) bool { return inTree[i].first > orphan.first })
		fits := (at == 0 || inTree[at-1].last < orphan.first) && (at == len(inTree) || inTree[at].first > orphan.last)
		if !s.intact || fits {
			s.leaves = append(s.leaves, orphan)
		}
	}
	return nil
}

func (s *salvage) knows(topic int64) bool { return s.topics == nil || s.topics[topic] }

// visitLeaf gives the cells of a page that look like messages. A page whose structure is whole is taken at its word. Of
// a damaged one each cell is taken for itself, also behind the end that the page tells, as long as cells go on.
func (s *salvage) visitLeaf(p *pages, page uint32, data []byte, visit func(i int, c cell, r row)) {
	n, err := p.parseNode(page, data)
	whole := err == nil && n.kind == tableLeaf && len(data) == p.pageSize && (p.checked.has(page) || p.checkNode(&n) == nil)
	if whole {
		p.checked.add(page)
	} else {
		n = node{page: page, data: data, kind: tableLeaf, pointers: 8}
		if told := int(binary.BigEndian.Uint16(data[3:])); told < (p.usable-8)/2 {
			n.cells = told
		}
	}
	var taken []extent
	last := int64(math.MinInt64)
	for i := 0; ; i++ {
		behind := i >= n.cells
		if behind && whole || n.pointers+2*i+2 > min(len(data), p.usable) {
			return
		}
		c, r, ok := s.message(p, &n, i, whole)
		if ok && !whole {
			start := int(binary.BigEndian.Uint16(data[n.pointers+2*i:]))
			taken, ok = claimExtent(taken, start, c.size)
			ok = ok && (!behind || c.rowid > last)
		}
		if !ok {
			if behind {
				return
			}
			continue
		}
		last = max(last, c.rowid)
		visit(i, c, r)
	}
}

// extent is a part of a page.
type extent struct{ start, end int }

func claimExtent(taken []extent, start, size int) ([]extent, bool) {
	for _, other := range taken {
		if start < other.end && other.start < start+size {
			return taken, false
		}
	}
	return append(taken, extent{start, start + size}), true
}

// message reads cell i as a message; ok is false when it does not look like one.
func (s *salvage) message(p *pages, n *node, i int, whole bool) (cell, row, bool) {
	lenient := *n
	if !whole {
		lenient.cells = 0 // the pointers of a damaged page may say anything
	}
	c, err := p.cell(&lenient, i)
	if err != nil {
		return cell{}, row{}, false
	}
	var space [8]column
	columns, err := parseRecord(space[:0], c.local, c.payload)
	if err != nil || len(columns) < 4 || len(columns) <= max(s.layout.topic, s.layout.time, s.layout.data) {
		return cell{}, row{}, false
	}
	topic, ok := columns[s.layout.topic].integer(c.local)
	nanos, ok2 := columns[s.layout.time].integer(c.local)
	data := columns[s.layout.data]
	if !ok || !ok2 || data.serial < serialBytes && data.serial != serialNull {
		return cell{}, row{}, false
	}
	if !whole && !s.knows(topic) {
		return cell{}, row{}, false
	}
	return c, row{topic: topic, nanos: nanos, data: data}, true
}

// claim follows the overflow pages of all messages. A message whose chain is broken is lost; a page that two chains
// have is contested.
func (s *salvage) claim(p *pages) error {
	// All chains together have no more pages than the file; a file that was made to keep us busy has.
	budget := 4 * int64(p.count)
	return s.eachChained(p, func(at place, c *cell) error {
		if s.isLost(at) {
			return nil // the same message stands elsewhere
		}
		if budget -= p.overflowPages(c); budget < 0 {
			s.lose(at)
			return nil
		}
		chain, err := s.chain(p, at.page, c)
		if err != nil {
			if !storage.IsCorruption(err) {
				return err
			}
			s.lose(at)
			return nil
		}
		return chain.each(p, func(page uint32) {
			if !s.claimed.add(page) {
				s.contest.add(page)
			}
		})
	})
}

func (s *salvage) lose(at place) {
	s.losing = append(s.losing, at)
	s.broken++
}

// eachChained visits the messages that have overflow pages.
func (s *salvage) eachChained(p *pages, visit func(place, *cell) error) error {
	for _, l := range s.leaves {
		data, err := p.partial(l.page)
		if err != nil {
			return err
		}
		var visitErr error
		s.visitLeaf(p, l.page, data, func(i int, c cell, _ row) {
			if c.next != 0 && visitErr == nil {
				visitErr = visit(place{l.page, uint16(i)}, &c)
			}
		})
		if visitErr != nil {
			return visitErr
		}
	}
	return nil
}

// overflowChain is the pages of one payload; jumps counts how often the next page is not the next number.
type overflowChain struct {
	first, last uint32
	jumps       int
	cell        *cell
	page        uint32
}

// chain makes sure that the overflow pages of a cell are there, as many as they must be, and end.
func (s *salvage) chain(p *pages, page uint32, c *cell) (overflowChain, error) {
	result := overflowChain{first: c.next, cell: c, page: page}
	previous := c.next
	err := p.links(page, c, func(n uint32) {
		if n != c.next && n != previous+1 {
			result.jumps++
		}
		previous = n
	})
	result.last = previous
	if err == nil && p.blank(previous) && (p.blank(previous-1) || p.blank(previous+1) || previous == p.count) &&
		!zeroEnd(c.local) {
		// The last page of a payload may be nothing but zeros, but here it seems to be one of several that were lost.
		err = p.corrupt(previous, errOverflow)
	}
	return result, err
}

// zeroEnd tells whether zeros in a payload go on rather than begin with a page.
func zeroEnd(data []byte) bool {
	tail := data[max(len(data)-16, 0):]
	return len(bytes.TrimLeft(tail, "\x00")) == 0
}

// blank tells whether a page is there and has nothing but zeros.
func (p *pages) blank(n uint32) bool {
	data, err := p.partial(n)
	return err == nil && len(data) > 0 && len(bytes.TrimLeft(data, "\x00")) == 0
}

func (o *overflowChain) each(p *pages, visit func(uint32)) error {
	return p.links(o.page, o.cell, visit)
}

// links visits the numbers of a cell's overflow pages without asking to whom they belong.
func (p *pages) links(page uint32, c *cell, visit func(uint32)) error {
	rest := p.overflowPages(c)
	if rest > int64(p.count) {
		return p.corrupt(page, errOverflow)
	}
	previous := uint32(0)
	for n := c.next; rest > 0; rest-- {
		if n < 2 {
			return p.corrupt(page, errOverflow)
		}
		if previous != 0 && n != previous+1 {
			if err := p.checkJump(previous, n); err != nil {
				return err
			}
		}
		data, err := p.partial(n)
		if err != nil {
			return err
		}
		if len(data) < p.pageSize {
			// The last page of a payload may be cut where it has none of it.
			need := int((c.payload-int64(len(c.local))-1)%int64(p.usable-4)) + 5
			if rest > 1 || len(data) < need {
				return p.corrupt(page, errOverflow)
			}
		}
		visit(n)
		next := binary.BigEndian.Uint32(data)
		if (next == 0) != (rest == 1) {
			return p.corrupt(page, errOverflow)
		}
		previous, n = n, next
	}
	return nil
}

// dropOrphansInChains leaves out pages that only look like leaves because a payload has such bytes.
func (s *salvage) dropOrphansInChains(*pages) error {
	s.leaves = slices.DeleteFunc(s.leaves, func(l leaf) bool { return !l.tree && s.claimed.has(l.page) })
	return nil
}

// settle decides who owns contested overflow pages. SQLite gives a message pages one after the other, and later
// messages later pages; a chain that is not so was led astray. Who can not be told from another loses as well: no
// message is given with the bytes of another one.
func (s *salvage) settle(p *pages) error {
	if len(s.contest) == 0 {
		return nil
	}
	var owned, disputed bitmap
	var contested []place
	var before uint32 // first overflow page of the message before
	type candidate struct {
		place
		cell
		overflowChain
	}
	var waiting *candidate
	decide := func(after uint32) error {
		w := waiting
		waiting = nil
		if w == nil {
			return nil
		}
		if w.jumps > 0 || w.first <= before || after != 0 && w.first >= after {
			s.lose(w.place)
			return nil
		}
		contested = append(contested, w.place)
		return p.links(w.place.page, &w.cell, func(n uint32) {
			if !owned.add(n) {
				disputed.add(n)
			}
		})
	}
	previous := uint32(0)
	err := s.eachChained(p, func(at place, c *cell) error {
		if s.isLost(at) {
			return nil
		}
		if err := decide(c.next); err != nil {
			return err
		}
		chain, err := s.chain(p, at.page, c)
		if err != nil {
			return err
		}
		hit := false
		_ = chain.each(p, func(n uint32) { hit = hit || s.contest.has(n) })
		before, previous = previous, c.next
		if hit {
			waiting = &candidate{at, *c, chain}
		}
		return nil
	})
	if err == nil {
		err = decide(0)
	}
	if err != nil || len(disputed) == 0 {
		return err
	}
	slices.SortFunc(contested, comparePlaces)
	return s.eachChained(p, func(at place, c *cell) error {
		if _, ok := slices.BinarySearchFunc(contested, at, comparePlaces); !ok {
			return nil
		}
		hit := false
		err := p.links(at.page, c, func(n uint32) { hit = hit || disputed.has(n) })
		if hit {
			s.lose(at)
		}
		return err
	})
}

func (s *salvage) isLost(at place) bool {
	_, ok := slices.BinarySearchFunc(s.lost, at, comparePlaces)
	return ok
}

// dropDuplicates sorts the leaves and keeps one of several rows with the same id, the one in the tree.
func (s *salvage) dropDuplicates(p *pages) error {
	sort.SliceStable(s.leaves, func(i, j int) bool {
		a, b := s.leaves[i], s.leaves[j]
		if a.first != b.first {
			return a.first < b.first
		}
		return a.tree && !b.tree
	})
	seen := map[int64]bool{} // of leaves that overlap
	reach := int64(math.MinInt64)
	for i := range s.leaves {
		l := &s.leaves[i]
		overlaps := i > 0 && l.first <= reach || i+1 < len(s.leaves) && s.leaves[i+1].first <= max(reach, l.last)
		if i > 0 && l.first > reach {
			clear(seen)
		}
		reach = max(reach, l.last)
		l.reach = reach
		if !overlaps {
			continue
		}
		data, err := p.partial(l.page)
		if err != nil {
			return err
		}
		s.visitLeaf(p, l.page, data, func(at int, c cell, _ row) {
			if s.isLost(place{l.page, uint16(at)}) {
				return
			}
			if seen[c.rowid] {
				s.losing = append(s.losing, place{l.page, uint16(at)})
			}
			seen[c.rowid] = true
		})
	}
	return nil
}
