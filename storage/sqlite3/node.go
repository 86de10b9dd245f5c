package sqlite3

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rosbagd/storage"
)

// The kinds of b-tree pages (fileformat2, section 1.6).
const (
	indexInterior = 0x02
	tableInterior = 0x05
	indexLeaf     = 0x0a
	tableLeaf     = 0x0d
)

var (
	errKind     = errors.New("page is not of the tree that leads to it")
	errCells    = errors.New("cells of a page do not fit it")
	errOrder    = errors.New("keys of a tree are not in order")
	errDepth    = errors.New("tree is too deep")
	errOverflow = errors.New("chain of overflow pages is broken")
)

// node is a page of a b-tree.
type node struct {
	page     uint32
	data     []byte
	kind     byte
	cells    int
	pointers int    // offset of the cell pointers
	right    uint32 // last child of an interior page
}

// cell is one entry of a node.
type cell struct {
	left    uint32 // child of an interior page
	rowid   int64  // of a table
	payload int64  // bytes of the record, with what is in overflow pages
	local   []byte // its begin
	next    uint32 // first overflow page, 0 for none
	size    int    // bytes in the page
}

// parseNode reads the head of a page and makes sure that its pointers lie within.
func (s *snapshot) parseNode(n uint32, data []byte) (node, error) {
	head := 0
	if n == 1 {
		head = headerLen
	}
	if len(data) < head+12 {
		return node{}, s.corrupt(n, storage.ErrEndsEarly)
	}
	result := node{page: n, data: data, kind: data[head], cells: int(binary.BigEndian.Uint16(data[head+3:]))}
	switch result.kind {
	case tableLeaf, indexLeaf:
		result.pointers = head + 8
	case tableInterior, indexInterior:
		result.pointers = head + 12
		result.right = binary.BigEndian.Uint32(data[head+8:])
	default:
		return node{}, s.corrupt(n, errKind)
	}
	if result.pointers+2*result.cells > min(len(data), s.usable) {
		return node{}, s.corrupt(n, errCells)
	}
	return result, nil
}

// cell reads cell i. The page may be cut short; what lies behind its end is an error.
func (s *snapshot) cell(n *node, i int) (cell, error) {
	start := int(binary.BigEndian.Uint16(n.data[n.pointers+2*i:]))
	end := min(len(n.data), s.usable)
	if start < n.pointers+2*n.cells || start >= end {
		return cell{}, s.corrupt(n.page, errCells)
	}
	data := n.data[start:end]
	at := 0
	var c cell
	if n.kind == tableInterior || n.kind == indexInterior {
		if len(data) < 4 {
			return cell{}, s.corrupt(n.page, errCells)
		}
		c.left = binary.BigEndian.Uint32(data)
		at = 4
	}
	if n.kind != tableInterior {
		payload, k := varint(data[at:])
		if k == 0 || payload > 1<<31 {
			return cell{}, s.corrupt(n.page, errCells)
		}
		c.payload = int64(payload)
		at += k
	}
	if n.kind == tableLeaf || n.kind == tableInterior {
		rowid, k := varint(data[at:])
		if k == 0 {
			return cell{}, s.corrupt(n.page, errCells)
		}
		c.rowid = int64(rowid)
		at += k
	}
	if n.kind != tableInterior {
		local := localSize(c.payload, s.usable, n.kind != tableLeaf)
		if len(data)-at < local {
			return cell{}, s.corrupt(n.page, errCells)
		}
		c.local = data[at : at+local : at+local]
		at += local
		if int64(local) < c.payload {
			if len(data)-at < 4 {
				return cell{}, s.corrupt(n.page, errCells)
			}
			c.next = binary.BigEndian.Uint32(data[at:])
			at += 4
		}
	}
	c.size = at
	return c, nil
}

// node gives a page of a tree. The first time it is met its whole structure is checked: cells, free blocks and
// fragments must fill the page exactly, as they do in every page that SQLite wrote.
func (p *pages) node(n uint32, index bool) (node, error) {
	data, err := p.page(n)
	if err != nil {
		return node{}, err
	}
	result, err := p.parseNode(n, data)
	if err != nil {
		return node{}, err
	}
	if index != (result.kind == indexLeaf || result.kind == indexInterior) {
		return node{}, p.corrupt(n, errKind)
	}
	if p.checked.has(n) {
		return result, nil
	}
	if err := p.checkNode(&result); err != nil {
		return node{}, err
	}
	p.checked.add(n)
	return result, nil
}

func (p *pages) checkNode(n *node) error {
	head := n.pointers - 8
	if n.kind == tableInterior || n.kind == indexInterior {
		head = n.pointers - 12
	}
	content := int(binary.BigEndian.Uint16(n.data[head+5:]))
	if content == 0 {
		content = maxPageSize
	}
	if content < n.pointers+2*n.cells || content > p.usable {
		return p.corrupt(n.page, errCells)
	}
	used := int(n.data[head+7]) // fragments
	for free := int(binary.BigEndian.Uint16(n.data[head+1:])); free != 0; {
		if free < content || free+4 > p.usable {
			return p.corrupt(n.page, errCells)
		}
		size := int(binary.BigEndian.Uint16(n.data[free+2:]))
		next := int(binary.BigEndian.Uint16(n.data[free:]))
		if size < 4 || free+size > p.usable || next != 0 && next < free+size {
			return p.corrupt(n.page, errCells)
		}
		used += size
		free = next
	}
	last := int64(0)
	for i := range n.cells {
		if int(binary.BigEndian.Uint16(n.data[n.pointers+2*i:])) < content {
			return p.corrupt(n.page, errCells)
		}
		c, err := p.cell(n, i)
		if err != nil {
			return err
		}
		used += max(c.size, 4)
		if n.kind == tableLeaf || n.kind == tableInterior {
			if i > 0 && c.rowid <= last {
				return p.corrupt(n.page, errOrder)
			}
			last = c.rowid
		}
	}
	if used != p.usable-content {
		return p.corrupt(n.page, errCells)
	}
	return nil
}

// child is the page below an interior page, on the left of cell i, or its last one.
func (s *snapshot) child(n *node, i int) (uint32, error) {
	if i == n.cells {
		return n.right, nil
	}
	c, err := s.cell(n, i)
	return c.left, err
}

// overflowPages is how many overflow pages a payload takes beside its local part.
func (s *snapshot) overflowPages(c *cell) int64 {
	rest := c.payload - int64(len(c.local))
	return (rest + int64(s.usable) - 5) / int64(s.usable-4)
}

// chain visits the overflow pages of a cell. The pages must be there, be as many as the payload needs, and end. What is
// visited is valid during the visit only.
func (p *pages) chain(page uint32, c *cell, visit func(n uint32, content []byte) error) error {
	rest := c.payload - int64(len(c.local))
	n := c.next
	if p.overflowPages(c) > int64(p.count) {
		return p.corrupt(page, errOverflow)
	}
	for previous := page; rest > 0; {
		data, err := p.content(n, (rest+int64(p.usable)-5)/int64(p.usable-4))
		if err != nil {
			if storage.IsCorruption(err) {
				if damage := (*storage.CorruptionError)(nil); errors.As(err, &damage) {
					err = fmt.Errorf("damaged at byte %d: %w", damage.Offset, damage.Err) // the path is told once
				}
				return p.corrupt(previous, fmt.Errorf("%w: %w", errOverflow, err))
			}
			return err
		}
		take := min(rest, int64(p.usable-4))
		if int64(len(data)) < 4+take {
			return p.corrupt(previous, fmt.Errorf("%w: %w", errOverflow, storage.ErrEndsEarly))
		}
		if err := visit(n, data[4:4+take]); err != nil {
			return err
		}
		rest -= take
		previous, n = n, binary.BigEndian.Uint32(data)
		if (n == 0) != (rest == 0) {
			return p.corrupt(previous, errOverflow)
		}
		if n != 0 && n != previous+1 {
			if err := p.checkJump(previous, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkJump looks at a chain that does not go on with the next page: when the page before the target is one that leads
// to it, then the target belongs to another chain. A page that is free still has what it had.
func (p *pages) checkJump(from, to uint32) error {
	if to < 2 {
		return p.corrupt(from, errOverflow)
	}
	before, err := p.partial(to - 1)
	if err != nil {
		return err
	}
	if to-1 != from && len(before) >= 4 && binary.BigEndian.Uint32(before) == to && !p.isFree(to-1) {
		return p.corrupt(from, errOverflow)
	}
	return nil
}

// isFree tells whether a page is on the free list.
func (p *pages) isFree(n uint32) bool {
	if p.free == nil {
		p.free = &bitmap{}
		_ = p.freePages(func(n uint32) { p.free.add(n) }) // as far as it goes
	}
	return p.free.has(n)
}

// payload gives the whole record of a cell. A record within its page is not copied; memory for a longer one is taken
// as its pages turn up, because its length is only what the file says.
func (p *pages) payload(page uint32, c *cell) ([]byte, error) {
	if c.next == 0 {
		return c.local, nil
	}
	const trusted = 1 << 20
	if need := p.overflowPages(c) * int64(p.usable-4); need > p.size+int64(p.pageSize)*p.overlayPages() {
		return nil, p.corrupt(page, errOverflow)
	}
	data := p.memory(min(c.payload, trusted))
	data = append(data, c.local...)
	err := p.chain(page, c, func(_ uint32, content []byte) error {
		if len(data)+len(content) > cap(data) {
			grown := make([]byte, len(data), min(c.payload, int64(cap(data))*4))
			copy(grown, data)
			data = grown
		}
		data = append(data, content...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (s *snapshot) overlayPages() int64 {
	if s.overlay == nil {
		return 0
	}
	return int64(len(s.overlay.offsets))
}
