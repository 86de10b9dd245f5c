package sqlite3

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

var errRecord = errors.New("record does not fit its length")

// varint reads a variable-length integer (fileformat2, section 1.6); n is 0 when b ends too early.
func varint(b []byte) (value uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	for i := 0; i < len(b) && i < 8; i++ {
		value = value<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return value, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return value<<8 | uint64(b[8]), 9
}

// column is a value of a record: its serial type and where it lies in the payload.
type column struct {
	serial uint64
	start  int64
	length int64
}

// The serial types (fileformat2, section 2.1).
const (
	serialNull  = 0
	serialReal  = 7
	serialZero  = 8
	serialOne   = 9
	serialBytes = 12 // blobs are even and texts odd from here on
)

func serialLength(serial uint64) int64 {
	switch {
	case serial <= 4:
		return int64(serial)
	case serial == 5:
		return 6
	case serial == 6, serial == serialReal:
		return 8
	case serial == serialZero, serial == serialOne:
		return 0
	case serial < serialBytes:
		return -1
	default:
		return int64((serial - serialBytes) / 2)
	}
}

// parseRecord reads the header of a record that is total bytes long and begins with local. Every column must lie within
// the record and together they must fill it. The columns are appended to columns.
func parseRecord(columns []column, local []byte, total int64) ([]column, error) {
	length, n := varint(local)
	if n == 0 || length < uint64(n) || length > uint64(len(local)) {
		return nil, errRecord
	}
	at := int64(length)
	header := local[n:length]
	for len(header) > 0 {
		serial, n := varint(header)
		if n == 0 {
			return nil, errRecord
		}
		header = header[n:]
		size := serialLength(serial)
		if size < 0 || size > total-at {
			return nil, errRecord
		}
		columns = append(columns, column{serial: serial, start: at, length: size})
		at += size
	}
	if at != total {
		return nil, errRecord
	}
	return columns, nil
}

// integer reads a column as a number; ok is false for what is none.
func (c column) integer(payload []byte) (value int64, ok bool) {
	switch c.serial {
	case serialZero:
		return 0, true
	case serialOne:
		return 1, true
	case 1, 2, 3, 4, 5, 6:
	default:
		return 0, false
	}
	if c.start+c.length > int64(len(payload)) {
		return 0, false
	}
	data := payload[c.start : c.start+c.length]
	if len(data) == 8 {
		return int64(binary.BigEndian.Uint64(data)), true
	}
	value = int64(int8(data[0]))
	for _, b := range data[1:] {
		value = value<<8 | int64(b)
	}
	return value, true
}

func (c column) bytes(payload []byte) []byte {
	if c.serial < serialBytes || c.start+c.length > int64(len(payload)) {
		return nil
	}
	return payload[c.start : c.start+c.length : c.start+c.length]
}

// decodeText makes a string of the database's encoding.
func (s *snapshot) decodeText(data []byte) string {
	if s.utf16 == nil {
		return string(data)
	}
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, s.utf16.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// localSize is how much of a payload stands in its cell; the rest is in overflow pages (fileformat2, section 1.6).
func localSize(payload int64, usable int, index bool) int {
	u := int64(usable)
	most := u - 35
	if index {
		most = (u-12)*64/255 - 23
	}
	if payload <= most {
		return int(payload)
	}
	least := (u-12)*32/255 - 23
	if k := least + (payload-least)%(u-4); k <= most {
		return int(k)
	}
	return int(least)
}
