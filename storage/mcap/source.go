package mcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

const (
	footerBodyLen = 8 + 8 + 4
	footerLen     = recordHeaderLen + footerBodyLen
	windowLen     = 64 << 10
)

// source is the file being read. It says where something is wrong.
type source struct {
	path string
	file io.ReaderAt
	size int64
}

func openSource(path string) (*os.File, source, error) {
	file, err := storage.OpenFile(path)
	if err != nil {
		return nil, source{}, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, source{}, fmt.Errorf("open bag file: %w", err)
	}
	return file, source{path: path, file: file, size: info.Size()}, nil
}

func (s source) corrupt(offset int64, err error) *storage.CorruptionError {
	return &storage.CorruptionError{Path: s.path, Offset: offset, Err: err}
}

// read fills p from offset; p must not be larger than the file allows.
func (s source) read(p []byte, offset int64) error {
	n, err := s.file.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return s.corrupt(offset, storage.ErrEndsEarly)
	}
	return fmt.Errorf("read %s: %w", s.path, err)
}

// slice reads n bytes from offset into memory of its own, after checking that the file has them.
func (s source) slice(offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset > s.size || n > s.size-offset {
		return nil, s.corrupt(offset, storage.ErrEndsEarly)
	}
	p := make([]byte, n)
	return p, s.read(p, offset)
}

// record is a record of the file without its content.
type record struct {
	op     mcaplib.OpCode
	offset int64 // of the opcode
	length int64 // of the content
}

func (r record) body() int64 { return r.offset + recordHeaderLen }
func (r record) end() int64  { return r.body() + r.length }

// window reads forward through the file with few, larger reads. What it returns is valid until its next call.
type window struct {
	source
	buffer []byte
	at     int64
	step   int64 // bytes read at once; 0 is windowLen
}

func (w *window) bytes(offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset > w.size || n > w.size-offset {
		return nil, w.corrupt(offset, storage.ErrEndsEarly)
	}
	if offset < w.at || offset+n > w.at+int64(len(w.buffer)) {
		step := w.step
		if step == 0 {
			step = windowLen
		}
		want := min(max(n, step), w.size-offset)
		if int64(cap(w.buffer)) < want {
			w.buffer = make([]byte, want)
		}
		w.buffer = w.buffer[:want]
		w.at = offset
		if err := w.read(w.buffer, offset); err != nil {
			w.buffer = w.buffer[:0]
			return nil, err
		}
	}
	start := offset - w.at
	return w.buffer[start : start+n : start+n], nil
}

// record reads the header of the record at offset. A record that ends behind until is not there as a whole.
func (w *window) record(offset, until int64) (record, error) {
	if offset > until-recordHeaderLen {
		return record{}, w.corrupt(offset, storage.ErrEndsEarly)
	}
	head, err := w.bytes(offset, recordHeaderLen)
	if err != nil {
		return record{}, err
	}
	length := binary.LittleEndian.Uint64(head[1:])
	if head[0] == 0 {
		return record{}, w.corrupt(offset, errNoRecord)
	}
	if length > uint64(until-offset-recordHeaderLen) {
		return record{}, w.corrupt(offset, storage.ErrEndsEarly)
	}
	return record{op: mcaplib.OpCode(head[0]), offset: offset, length: int64(length)}, nil
}

func (w *window) body(r record) ([]byte, error) { return w.bytes(r.body(), r.length) }
