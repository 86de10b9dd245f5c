package sqlite3

import (
	"bytes"

	"rosbagd/storage"
)

// believed is what is taken for true of a file whose header can not be.
type believed struct {
	pageSize int // 0 is what the header says
	// all says that nothing in the header is believed: pages are used to their ends, texts are UTF-8.
	all bool
}

// hasMagic tells whether a file, or the log beside it, begins as a database.
func hasMagic(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// resembles tells whether at most a few bytes of the magic are damaged, so that what follows it may be right.
func resembles(head []byte) bool {
	equal := 0
	for i := range len(magic) {
		if head[i] == magic[i] {
			equal++
		}
	}
	return 2*equal > len(magic)
}

// guessHeader finds out how the pages of a file lie when the header tells what can not be: so that the first page is
// whole, or else so that most of the others are.
func (d *database) guessHeader() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := d.lookLocked()
	if err != nil {
		return err
	}
	defer func() { d.current = nil }()
	guesses := []believed{d.believed}
	for _, all := range []bool{d.believed.all, true} {
		for size := minPageSize; size <= maxPageSize; size *= 2 {
			guesses = append(guesses, believed{size, all})
		}
	}
	for _, d.believed = range guesses {
		s, err := d.build(now)
		if storage.IsCorruption(err) {
			continue // no page size, or too short
		}
		if err != nil {
			return err
		}
		if _, err := s.reader().node(1, false); err == nil {
			return nil
		}
	}
	return d.guessFromOthers(now, guesses)
}

// usualPageSize is what SQLite takes since 2016, and so nearly all files have.
const usualPageSize = 4096

// guessFromOthers is guessHeader for a file whose first page is lost.
func (d *database) guessFromOthers(now state, guesses []believed) error {
	best, most := believed{usualPageSize, guesses[0].all}, int64(0)
	for _, d.believed = range guesses {
		s, err := d.build(now)
		if storage.IsCorruption(err) {
			continue
		}
		if err != nil {
			return err
		}
		whole, err := s.wholeNodes()
		if err != nil {
			return err
		}
		if whole > most {
			best, most = d.believed, whole
		}
	}
	d.believed = best
	return nil
}

// triedBytes is how much of a file is looked at for each guess.
const triedBytes = 8 << 20

// wholeNodes is how many bytes of the file are in pages of trees that are filled exactly, as all are that SQLite wrote.
func (s *snapshot) wholeNodes() (int64, error) {
	p := s.reader()
	var whole int64
	for n := uint32(2); n <= p.count && p.offset(n) < triedBytes; n++ {
		data, err := p.partial(n)
		if err != nil {
			return 0, err
		}
		node, err := p.parseNode(n, data)
		if err != nil || len(data) < p.pageSize || node.cells == 0 || p.checkNode(&node) != nil {
			continue
		}
		whole += int64(p.pageSize)
	}
	return whole, nil
}
