package mcap

import (
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// search looks for the place at which the records go on after damage.
//
// Records have no mark of their own, and a payload can hold a whole MCAP file, whose records are as good as those of
// the file. So a place is taken only when a chain of records begins there that leads to a chunk whose checksum holds, or
// to the end of the file; and what lies between an inner magic or header and its footer is passed over.
type search struct {
	bytes window // goes through the file byte by byte
	chain window // looks ahead
	// suspect says that the beginning of an inner file was seen, but not its end: then only a chain to the end of the
	// file is believed.
	suspect bool
	budget  int64 // bytes that may still be read in vain, so that a file made for it can not keep us busy
}

const (
	searchStep = 256 << 10
	chainStep  = 4 << 10
	// chainMessages is how many messages in a row are believed in a file without chunks.
	chainMessages = 8
	// largestRecord is the most that the length of a record is believed to be while searching.
	largestRecord = 1 << 40
)

func newSearch(src source) search {
	return search{
		bytes: window{source: src, step: searchStep}, chain: window{source: src, step: chainStep},
		budget: searchBudget(src.size),
	}
}

// searchBudget is how many bytes may be read in vain in a file of this size.
func searchBudget(size int64) int64 { return 16<<20 + 8*min(size, math.MaxInt64/16) }

// find gives the first place from here on where records can be read again; the size of the file when there is none.
func (s *scan) find(from int64) (int64, error) {
	for at := from; at < s.size && s.search.budget > 0; {
		piece, err := s.search.bytes.bytes(at, min(searchStep, s.size-at))
		if err != nil {
			return 0, err
		}
		i := candidate(piece, s.size-at)
		if i < 0 {
			// The last bytes of a piece are looked at again with what follows them.
			at += int64(max(1, len(piece)-recordHeaderLen+1))
			continue
		}
		at += int64(i)
		found, resume, err := s.try(at, piece[i] == mcaplib.Magic[0])
		if err != nil || found {
			return resume, err
		}
		at = max(resume, at+1)
	}
	return s.size, nil
}

// candidate gives the first byte that can be the opcode of a record or begins a magic; -1 when there is none.
func candidate(piece []byte, remaining int64) int {
	for i := 0; i+recordHeaderLen <= len(piece); i++ {
		op := mcaplib.OpCode(piece[i])
		if op == 0 {
			continue
		}
		if op >= firstUnknownOp {
			if piece[i] == mcaplib.Magic[0] && string(piece[i:i+len(mcaplib.Magic)]) == string(mcaplib.Magic) {
				return i
			}
			continue
		}
		length := binary.LittleEndian.Uint64(piece[i+1:])
		if length >= 4 && length < largestRecord && int64(length) <= remaining-int64(i)-recordHeaderLen {
			return i
		}
	}
	return -1
}

// try tells whether the records go on at this place, and where to begin or to search on.
func (s *scan) try(at int64, magic bool) (found bool, resume int64, err error) {
	if magic {
		return s.inner(at + int64(len(mcaplib.Magic)))
	}
	c := chain{scan: s, start: at, at: at, chunked: s.chunked}
	end, err := c.follow()
	if err != nil {
		return false, 0, err
	}
	switch end {
	case chainInner:
		s.search.suspect = false
		return false, c.at, nil
	case chainHeader:
		return s.inner(c.at)
	case chainEnd:
		s.search.suspect = false
		s.accept(&c)
		return c.start < s.size, c.start, nil
	}
	if s.search.suspect {
		s.search.budget -= c.verified
		return false, at + 1, nil
	}
	found = c.verified > 0 || c.messages >= chainMessages || c.described > 0
	if found {
		s.accept(&c)
	}
	return found, c.start, nil
}

// accept takes over what a good chain tells of the file.
func (s *scan) accept(c *chain) {
	s.chunked = s.chunked || (c.chunked && c.verified > 0)
	s.unproven = c.verified == 0
}

// inner passes over a file within a payload, whose first record is at this place.
func (s *scan) inner(at int64) (bool, int64, error) {
	c := chain{scan: s, start: at, at: at, inner: true}
	end, err := c.follow()
	if err != nil {
		return false, 0, err
	}
	s.search.suspect = end == chainBroken
	if end == chainEnd {
		return false, s.size, nil
	}
	return false, c.at, nil
}

// chain follows records from one to the next.
type chain struct {
	*scan
	start     int64 // where the records go on, if the chain is good
	at        int64
	inner     bool  // it is of an inner file
	chunked   bool  // the file has chunks, or the chain has
	verified  int64 // bytes of chunks whose content is good
	messages  int   // outside of chunks
	described int   // schemas and channels
}

type chainResult int

const (
	chainBroken chainResult = iota // what stands at c.at is no record
	chainEnd                       // it leads to the end of the file
	chainInner                     // it leads to the end of an inner file, which is c.at
	chainHeader                    // it leads to the beginning of an inner file, whose first record is at c.at
)

func (c *chain) follow() (chainResult, error) {
	w := &c.search.chain
	for {
		switch c.size - c.at {
		case 0:
			return chainEnd, nil
		case int64(len(mcaplib.Magic)):
			if isMagic(w, c.at) {
				return chainEnd, nil
			}
		}
		rec, err := w.record(c.at, c.size)
		if err != nil {
			if passCorruption(err) != nil {
				return 0, err
			}
			// The last record of a file that was cut off.
			if c.verified > 0 && c.tornEnd(w) {
				return chainEnd, nil
			}
			return chainBroken, nil
		}
		if rec.op >= firstUnknownOp {
			if c.verified == 0 && !c.inner {
				return chainBroken, nil
			}
			c.at = rec.end()
			continue
		}
		if !plausible(w, rec) {
			return chainBroken, nil
		}
		if rec.op == mcaplib.OpFooter {
			end := rec.end()
			switch {
			case !isMagic(w, end):
				return chainBroken, nil
			case end+int64(len(mcaplib.Magic)) == c.size:
				return chainEnd, nil
			}
			c.at = end + int64(len(mcaplib.Magic))
			return chainInner, nil
		}
		if rec.op == mcaplib.OpHeader && !c.inner && rec.offset != int64(len(mcaplib.Magic)) {
			if !isHeader(w, rec) {
				return chainBroken, nil
			}
			c.at = rec.end()
			return chainHeader, nil
		}
		if good, err := c.take(rec); err != nil || !good {
			return chainBroken, err
		}
		c.at = rec.end()
	}
}

// take looks at a record of the chain. Messages in front of the message indexes of a chunk, or of the next chunk, were
// in a chunk whose head is lost: without its checksum they are not believed.
func (c *chain) take(rec record) (bool, error) {
	if c.inner {
		return true, nil
	}
	switch rec.op {
	case mcaplib.OpSchema, mcaplib.OpChannel:
		c.described++
	case mcaplib.OpMessage:
		if c.verified > 0 {
			return true, nil
		}
		if c.chunked {
			return false, nil
		}
		head, err := c.search.chain.bytes(rec.body(), 2)
		if err != nil {
			return false, err
		}
		if _, known := c.channels[binary.LittleEndian.Uint16(head)]; !known && len(c.channels) > 0 && c.described == 0 {
			return false, nil
		}
		c.messages++
	case mcaplib.OpMessageIndex, mcaplib.OpChunk:
		c.chunked = true
		if c.messages > 0 && c.verified == 0 {
			c.start, c.messages, c.described = rec.offset, 0, 0
		}
		if rec.op == mcaplib.OpChunk && c.verified == 0 {
			return true, c.verify(rec)
		}
	}
	return true, nil
}

// verify unpacks a chunk. One that is damaged does not end the chain, since its length may be right.
func (c *chain) verify(rec record) error {
	if c.search.budget <= 0 {
		return nil
	}
	records, err := c.reader.load(chunkRef{offset: rec.offset, length: rec.end() - rec.offset})
	if err == nil {
		_, err = walk(records, func(op mcaplib.OpCode, _ []byte, _ int) error {
			if op != mcaplib.OpSchema && op != mcaplib.OpChannel && op != mcaplib.OpMessage && op < firstUnknownOp {
				return errNoRecord
			}
			return nil
		})
		if err == nil {
			c.verified += rec.length
			return nil
		}
	}
	c.search.budget -= rec.length + int64(len(records)) + chainStep
	return passDamage(err)
}

// passDamage gives nil for every error that the content of the file causes.
func passDamage(err error) error {
	if storage.IsCorruption(err) || errors.Is(err, errNoRecord) {
		return nil
	}
	return err
}

// tornEnd tells whether the record at c.at begins as it should and ends behind the end of the file.
func (c *chain) tornEnd(w *window) bool {
	if c.size-c.at < recordHeaderLen {
		return true
	}
	head, err := w.bytes(c.at, recordHeaderLen)
	if err != nil {
		return false
	}
	length := binary.LittleEndian.Uint64(head[1:])
	return head[0] > 0 && mcaplib.OpCode(head[0]) < firstUnknownOp && length < largestRecord &&
		int64(length) > c.size-c.at-recordHeaderLen
}

// isHeader tells whether a record is the header of a file: what it says is readable.
func isHeader(w *window, rec record) bool {
	body, err := w.body(rec)
	if err != nil {
		return false
	}
	c := cursor{rest: body}
	words := c.text() + c.text()
	return c.err == nil && len(c.rest) == 0 && words != "" && utf8.ValidString(words) && storage.Printable(words) == words
}

func isMagic(w *window, at int64) bool {
	if w.size-at < int64(len(mcaplib.Magic)) {
		return false
	}
	found, err := w.bytes(at, int64(len(mcaplib.Magic)))
	return err == nil && string(found) == string(mcaplib.Magic)
}
