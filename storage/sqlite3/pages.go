package sqlite3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"rosbagd/storage"
)

// The page size and its place in the header of a database (https://www.sqlite.org/fileformat2.html, section 1.3).
const (
	headerLen   = 100
	minPageSize = 512
	maxPageSize = 65536

	// blockLen is how much of the file is read at once, and blocksKept how many of these an iterator remembers.
	blockLen   = 32 << 10
	blocksKept = 32
	// runLen is how much of a large payload is read at once.
	runLen = 256 << 10
)

var (
	errHeader    = errors.New("header of the database is damaged")
	errPageRange = errors.New("page number lies outside of the file")
)

// snapshot is the content of a database at one moment: its pages, with what a log or journal beside it says of them. It
// does not change.
type snapshot struct {
	path     string
	file     io.ReaderAt
	size     int64 // bytes of the file
	pageSize int
	usable   int    // bytes of a page that are SQLite's
	count    uint32 // pages
	utf16    binary.ByteOrder
	freelist uint32 // first trunk page, 0 for none
	mapped   bool   // pages of pointers back lie among the others (auto_vacuum)
	overlay  *overlay
	// short tells that the file ends before its last page.
	short bool
}

// overlay is where the pages are that stand in another file than the database.
type overlay struct {
	file    io.ReaderAt
	offsets map[uint32]int64
	// check guards against a log that was begun anew while it is read; nil where that can not be.
	check func(page uint32, offset int64) error
}

// parsePageSize gives 0 for what is no page size.
func parsePageSize(header []byte) int {
	size := int(binary.BigEndian.Uint16(header[16:]))
	if size == 1 {
		size = maxPageSize
	}
	if size < minPageSize || size&(size-1) != 0 {
		return 0
	}
	return size
}

// setHeader takes over what the first page says. pageSize overrides the size there when it is not 0.
func (s *snapshot) setHeader(header []byte, pageSize int) error {
	if s.pageSize = pageSize; pageSize == 0 {
		if s.pageSize = parsePageSize(header); s.pageSize == 0 {
			return s.corrupt(1, errHeader)
		}
	}
	reserved := int(header[20])
	if s.usable = s.pageSize - reserved; s.usable < 480 {
		s.usable = s.pageSize
	}
	switch binary.BigEndian.Uint32(header[56:]) {
	case 2:
		s.utf16 = binary.LittleEndian
	case 3:
		s.utf16 = binary.BigEndian
	}
	s.freelist = binary.BigEndian.Uint32(header[32:])
	s.mapped = binary.BigEndian.Uint32(header[52:]) != 0
	return nil
}

// filePages is how many pages the file has, the last one perhaps in part.
func (s *snapshot) filePages() uint32 {
	return uint32(min((s.size+int64(s.pageSize)-1)/int64(s.pageSize), 1<<32-2))
}

func (s *snapshot) offset(page uint32) int64 { return (int64(page) - 1) * int64(s.pageSize) }

func (s *snapshot) corrupt(page uint32, err error) error {
	return &storage.CorruptionError{Path: s.path, Offset: max(s.offset(page), 0), Err: err}
}

// pages reads the pages of a snapshot for one goroutine. What it gives out is never written to again, so that messages
// can point into it.
type pages struct {
	*snapshot
	blocks  map[int64][]byte
	order   [blocksKept]int64
	next    int
	checked bitmap  // pages whose structure was looked at
	chained bool    // payloads have overflow pages, so that most pages are not looked at again
	ahead   ahead   // overflow pages
	slab    []byte  // memory for payloads
	free    *bitmap // pages of the free list, nil before they were asked for
}

func (s *snapshot) reader() *pages {
	return &pages{snapshot: s, blocks: make(map[int64][]byte, blocksKept)}
}

// page gives a whole page. One that the file does not have is a *storage.CorruptionError.
func (p *pages) page(n uint32) ([]byte, error) {
	data, err := p.partial(n)
	if err != nil {
		return nil, err
	}
	if len(data) < p.pageSize {
		return nil, p.corrupt(n, storage.ErrEndsEarly)
	}
	return data, nil
}

// partial gives what the file has of a page.
func (p *pages) partial(n uint32) ([]byte, error) {
	if n == 0 || n > p.count {
		return nil, p.corrupt(n, fmt.Errorf("%w: %d of %d", errPageRange, n, p.count))
	}
	if p.overlay != nil {
		if offset, ok := p.overlay.offsets[n]; ok {
			return p.overlaid(n, offset)
		}
	}
	length := p.blockLen()
	offset := p.offset(n)
	start := offset - offset%length
	block, ok := p.blocks[start]
	if !ok {
		// A leaf between overflow pages was read with these.
		if page, ok := p.blocks[offset|singlePage]; ok {
			return page, nil
		}
		if p.chained && p.ahead.page(offset, p.pageSize) == nil {
			if err := p.readAhead(start, length); err != nil {
				return nil, err
			}
		}
		if data := p.ahead.page(offset, p.pageSize); data != nil {
			page := bytes.Clone(data)
			p.keep(offset|singlePage, page)
			return page[:len(page):len(page)], nil
		}
		var err error
		if block, err = p.read(start, length); err != nil {
			return nil, err
		}
		p.keep(start, block)
	}
	from := min(offset-start, int64(len(block)))
	to := min(from+int64(p.pageSize), int64(len(block)))
	return block[from:to:to], nil
}

// singlePage marks the key of a block that is one page.
const singlePage = 1

func (p *pages) blockLen() int64 { return int64(max(blockLen, p.pageSize)) }

// keep remembers a block in the place of the oldest one.
func (p *pages) keep(key int64, block []byte) {
	if len(p.blocks) >= blocksKept {
		delete(p.blocks, p.order[p.next])
	}
	p.order[p.next] = key
	p.next = (p.next + 1) % blocksKept
	p.blocks[key] = block
}

func (p *pages) read(start, length int64) ([]byte, error) {
	length = min(length, p.size-start)
	if length <= 0 {
		return nil, nil
	}
	block := make([]byte, length)
	n, err := p.file.ReadAt(block, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", p.path, storage.WithoutPath(err))
	}
	return block[:n], nil
}

// content gives what the file has of a page whose content is copied at once: it is valid until the next call. most is how
// many pages are likely to be wanted from n on.
func (p *pages) content(n uint32, most int64) ([]byte, error) {
	if p.overlay != nil || n == 0 || n > p.count {
		return p.partial(n)
	}
	p.chained = true
	offset := p.offset(n)
	if data := p.ahead.page(offset, p.pageSize); data != nil {
		return data, nil
	}
	if block, ok := p.blocks[offset-offset%p.blockLen()]; ok {
		from := min(offset%p.blockLen(), int64(len(block)))
		return block[from:min(from+int64(p.pageSize), int64(len(block)))], nil
	}
	if err := p.readAhead(offset, most*int64(p.pageSize)); err != nil {
		return nil, err
	}
	return p.ahead.data[:min(len(p.ahead.data), p.pageSize)], nil
}

// readAhead reads at least a block from offset on, and more when the file seems to be read from its start to its end.
func (p *pages) readAhead(offset, wanted int64) error {
	length := max(wanted, p.blockLen())
	if near := offset - p.ahead.start - int64(len(p.ahead.data)); near >= 0 && near < blockLen {
		length = max(length, 2*int64(len(p.ahead.data)))
	}
	length = max(min(length, runLen, p.size-offset), 0)
	if int64(cap(p.ahead.data)) < length {
		p.ahead.data = make([]byte, length)
	}
	p.ahead.start, p.ahead.data = offset, p.ahead.data[:length]
	read, err := p.file.ReadAt(p.ahead.data, offset)
	p.ahead.data = p.ahead.data[:read]
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", p.path, storage.WithoutPath(err))
	}
	return nil
}

// ahead is a part of the file that was read at once.
type ahead struct {
	start int64
	data  []byte
}

// page gives a whole page, nil when it is not there.
func (a *ahead) page(offset int64, size int) []byte {
	at := offset - a.start
	if at < 0 || at+int64(size) > int64(len(a.data)) {
		return nil
	}
	return a.data[at : at+int64(size)]
}

// slabLen is how much memory is taken at once for payloads of up to a quarter of it. One message that is kept for long
// keeps as much.
const slabLen = 64 << 10

// memory gives room for a payload, which is never given out again.
func (p *pages) memory(size int64) []byte {
	if size > slabLen/4 {
		return make([]byte, 0, size)
	}
	if int64(len(p.slab)) < size {
		p.slab = make([]byte, slabLen)
	}
	data := p.slab[:0:size]
	p.slab = p.slab[size:]
	return data
}

func (p *pages) overlaid(n uint32, offset int64) ([]byte, error) {
	if p.overlay.check != nil {
		if err := p.overlay.check(n, offset); err != nil {
			return nil, err
		}
	}
	data := make([]byte, p.pageSize)
	if _, err := p.overlay.file.ReadAt(data, offset); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, p.corrupt(n, storage.ErrEndsEarly)
		}
		return nil, fmt.Errorf("read log of %s: %w", p.path, storage.WithoutPath(err))
	}
	return data, nil
}

// bitmap is a set of page numbers.
type bitmap []uint64

func (b *bitmap) has(n uint32) bool {
	at := int(n / 64)
	return at < len(*b) && (*b)[at]&(1<<(n%64)) != 0
}

// add tells whether n is new.
func (b *bitmap) add(n uint32) bool {
	at := int(n / 64)
	if at >= len(*b) {
		*b = append(*b, make([]uint64, at+1-len(*b)+at/2)...)
	}
	if (*b)[at]&(1<<(n%64)) != 0 {
		return false
	}
	(*b)[at] |= 1 << (n % 64)
	return true
}
