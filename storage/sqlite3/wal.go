package sqlite3

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
)

// The write-ahead log (https://www.sqlite.org/fileformat2.html, section 4).
const (
	logHeaderLen   = 32
	frameHeaderLen = 24
	logMagic       = 0x377f0682 // the last bit is the byte order of checksums
)

var errLogChanged = errors.New("log was begun anew")

// logReader finds the committed frames of a write-ahead log. What it found stays good while the log only grows.
type logReader struct {
	file *os.File
	id   fileID

	header   [logHeaderLen]byte
	order    binary.ByteOrder // nil: no valid header
	pageSize int
	end      int64 // behind the last committed frame
	sums     [2]uint32
	offsets  map[uint32]int64
	pages    uint32 // size of the database after the last committed frame
}

func (l *logReader) grown() bool {
	info, err := l.file.Stat()
	return err == nil && info.Size() > l.end
}

// overlay gives where the newest committed content of each page is; nil when nothing is committed.
func (l *logReader) overlay() (*overlay, uint32, error) {
	var header [logHeaderLen]byte
	if _, err := l.file.ReadAt(header[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	if header != l.header || l.end == 0 {
		l.begin(header)
	}
	if l.order == nil {
		return nil, 0, nil
	}
	if err := l.scan(); err != nil {
		return nil, 0, err
	}
	if l.pages == 0 {
		return nil, 0, nil
	}
	salts := [8]byte(l.header[16:24])
	return &overlay{
		file: l.file, offsets: maps.Clone(l.offsets),
		check: func(page uint32, offset int64) error {
			var frame [frameHeaderLen]byte
			if _, err := l.file.ReadAt(frame[:], offset-frameHeaderLen); err != nil {
				return err
			}
			if binary.BigEndian.Uint32(frame[:]) != page || [8]byte(frame[8:16]) != salts {
				return errLogChanged
			}
			return nil
		},
	}, l.pages, nil
}

func (l *logReader) begin(header [logHeaderLen]byte) {
	*l = logReader{file: l.file, id: l.id, header: header, end: logHeaderLen, offsets: map[uint32]int64{}}
	magic := binary.BigEndian.Uint32(header[:])
	if magic&^1 != logMagic {
		return
	}
	l.pageSize = int(binary.BigEndian.Uint32(header[8:]))
	if l.pageSize < minPageSize || l.pageSize > maxPageSize || l.pageSize&(l.pageSize-1) != 0 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 != 0 {
		order = binary.BigEndian
	}
	sums := checksum(order, [2]uint32{}, header[:24])
	if sums[0] != binary.BigEndian.Uint32(header[24:]) || sums[1] != binary.BigEndian.Uint32(header[28:]) {
		return
	}
	l.order, l.sums = order, sums
}

// scan goes on from the last committed frame. A frame counts when its salts and its checksum, which covers all frames
// before it, are right, and when a frame that commits follows or is itself.
func (l *logReader) scan() error {
	frame := make([]byte, frameHeaderLen+l.pageSize)
	sums, at := l.sums, l.end
	type found struct {
		page   uint32
		offset int64
	}
	var open []found // of a transaction whose end was not met yet
	for {
		if _, err := l.file.ReadAt(frame, at); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if [8]byte(frame[8:16]) != [8]byte(l.header[16:24]) {
			return nil
		}
		sums = checksum(l.order, sums, frame[:8])
		sums = checksum(l.order, sums, frame[frameHeaderLen:])
		if sums[0] != binary.BigEndian.Uint32(frame[16:]) || sums[1] != binary.BigEndian.Uint32(frame[20:]) {
			return nil
		}
		page, pages := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:])
		if page == 0 {
			return nil
		}
		open = append(open, found{page, at + frameHeaderLen})
		at += int64(len(frame))
		if pages == 0 {
			continue
		}
		for _, f := range open {
			l.offsets[f.page] = f.offset
		}
		open = open[:0]
		l.sums, l.end, l.pages = sums, at, pages
	}
}

// checksum is that of the log (fileformat2, section 4.2).
func checksum(order binary.ByteOrder, sums [2]uint32, data []byte) [2]uint32 {
	a, b := sums[0], sums[1]
	if order == binary.LittleEndian {
		for ; len(data) >= 8; data = data[8:] {
			a += binary.LittleEndian.Uint32(data) + b
			b += binary.LittleEndian.Uint32(data[4:]) + a
		}
		return [2]uint32{a, b}
	}
	for ; len(data) >= 8; data = data[8:] {
		a += binary.BigEndian.Uint32(data) + b
		b += binary.BigEndian.Uint32(data[4:]) + a
	}
	return [2]uint32{a, b}
}
