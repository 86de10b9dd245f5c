package sqlite3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// The rollback journal (https://www.sqlite.org/fileformat2.html, section 3).
const (
	journalMagic     = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	journalHeaderLen = 28
)

// readJournal gives the pages as they were before the transaction that a process did not live to end, and how many the
// database had. A journal that does not count (its head is empty or torn) gives nothing: SQLite writes into the database
// only when the head is on the disk.
func (d *database) readJournal() (*overlay, uint32, error) {
	if d.journal != nil {
		_ = d.journal.Close() // it was only read
	}
	file, err := os.Open(d.path + journalSuffix)
	d.journal = file
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	return parseJournal(file, info.Size())
}

func parseJournal(file io.ReaderAt, size int64) (*overlay, uint32, error) {
	result := &overlay{file: file, offsets: map[uint32]int64{}}
	var pages uint32
	for at := int64(0); at+journalHeaderLen <= size; {
		var head [journalHeaderLen]byte
		if _, err := file.ReadAt(head[:], at); err != nil {
			return nil, 0, err
		}
		if !bytes.HasPrefix(head[:], []byte(journalMagic)) {
			break
		}
		records := int64(binary.BigEndian.Uint32(head[8:]))
		nonce := binary.BigEndian.Uint32(head[12:])
		sector := int64(binary.BigEndian.Uint32(head[20:]))
		pageSize := int64(binary.BigEndian.Uint32(head[24:]))
		if sector < 32 || sector > maxPageSize || pageSize < minPageSize || pageSize > maxPageSize {
			break
		}
		if at == 0 {
			pages = binary.BigEndian.Uint32(head[16:])
		}
		at += sector
		if records == 0xffffffff {
			records = (size - at) / (pageSize + 8)
		}
		read, err := result.addRecords(at, records, pageSize, nonce)
		if err != nil {
			return nil, 0, err
		}
		if read < records {
			break
		}
		at += records * (pageSize + 8)
		at = (at + sector - 1) / sector * sector
	}
	if pages == 0 {
		return nil, 0, nil
	}
	return result, pages, nil
}

// addRecords takes up to n records and says how many were whole. The first record of a page is the oldest.
func (o *overlay) addRecords(at, n, pageSize int64, nonce uint32) (int64, error) {
	record := make([]byte, pageSize+8)
	for i := range n {
		if _, err := o.file.ReadAt(record, at); err != nil {
			if errors.Is(err, io.EOF) {
				return i, nil
			}
			return i, err
		}
		page := binary.BigEndian.Uint32(record)
		sum := nonce
		for x := int(pageSize) - 200; x > 0; x -= 200 {
			sum += uint32(record[4+x])
		}
		if page == 0 || sum != binary.BigEndian.Uint32(record[4+pageSize:]) {
			return i, nil
		}
		if _, ok := o.offsets[page]; !ok {
			o.offsets[page] = at + 4
		}
		at += int64(len(record))
	}
	return n, nil
}
