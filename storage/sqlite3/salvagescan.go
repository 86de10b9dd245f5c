package sqlite3

import (
	"io"
	"sort"
)

// salvageScanner gives the messages that were salvaged, by row id.
type salvageScanner struct {
	*salvage
	p     *pages
	leaf  int
	cells []salvaged
	at    int
}

type salvaged struct {
	cell
	row
}

func (s *salvageScanner) pages() *pages { return s.p }

func (s *salvageScanner) restart() error {
	s.leaf, s.cells, s.at = 0, s.cells[:0], 0
	return nil
}

// seek goes to the first leaf that may have row ids from rowid on.
func (s *salvageScanner) seek(rowid int64) {
	s.leaf = sort.Search(len(s.leaves), func(i int) bool { return s.leaves[i].reach >= rowid })
	s.cells, s.at = s.cells[:0], 0
}

func (s *salvageScanner) load(i int, cells []salvaged) ([]salvaged, error) {
	page := s.leaves[i].page
	data, err := s.p.partial(page)
	if err != nil {
		return nil, err
	}
	cells = cells[:0]
	s.visitLeaf(s.p, page, data, func(i int, c cell, r row) {
		if !s.isLost(place{page, uint16(i)}) {
			cells = append(cells, salvaged{c, r})
		}
	})
	return cells, nil
}

func (s *salvageScanner) next() (cell, uint32, row, key, error) {
	for s.at == len(s.cells) {
		if s.leaf == len(s.leaves) {
			return cell{}, 0, row{}, key{}, io.EOF
		}
		var err error
		if s.cells, err = s.load(s.leaf, s.cells); err != nil {
			return cell{}, 0, row{}, key{}, err
		}
		s.leaf, s.at = s.leaf+1, 0
	}
	found := &s.cells[s.at]
	s.at++
	return found.cell, s.leaves[s.leaf-1].page, found.row, key{found.nanos, found.rowid}, nil
}

// find gives a row by its id. Leaves may overlap where the file is damaged.
func (s *salvageScanner) find(k key) (cell, uint32, row, error) {
	for i := sort.Search(len(s.leaves), func(i int) bool { return s.leaves[i].first > k.id }) - 1; i >= 0; i-- {
		if s.leaves[i].reach < k.id {
			break
		}
		if s.leaves[i].last < k.id {
			continue
		}
		if s.leaf != i+1 {
			var err error
			if s.cells, err = s.load(i, s.cells); err != nil {
				return cell{}, 0, row{}, err
			}
			s.leaf = i + 1
		}
		for _, found := range s.cells {
			if found.rowid == k.id && found.nanos == k.nanos {
				return found.cell, s.leaves[i].page, found.row, nil
			}
		}
	}
	return cell{}, 0, row{}, s.p.corrupt(1, errIndex)
}

// salvageSource gives the rows that were salvaged in the order of the file, from behind a row id on.
type salvageSource struct {
	salvageScanner
	after int64
	begun bool
}

func (s *salvageSource) next() (cell, uint32, row, key, error) {
	for {
		c, page, r, k, err := s.salvageScanner.next()
		if err != nil || !s.begun || k.id > s.after {
			return c, page, r, k, err
		}
	}
}
