package mcap

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync/atomic"

	"rosbagd/storage"
)

// sink is the file below the library's writer. It joins small writes, passes large ones through, and can go back to
// the end of the last whole record. It knows how large the file is and never asks.
type sink struct {
	file    storage.File
	files   storage.Files
	path    string
	named   atomic.Bool // the directory was synced since the file was made
	buffer  []byte
	written int64 // bytes in the file, without the buffer
	crc     uint32
	withCRC bool     // compute crc over what passes
	vector  [][]byte // reused
}

const sinkBuffer = 64 << 10

// createSink makes the file under its final name. That the name survives a loss of power is part of the first sync, so
// that a new file does not wait for a disk that is busy with the last one.
func createSink(path string, files storage.Files) (*sink, error) {
	if files == nil {
		files = storage.OSFiles{}
	}
	file, err := files.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create bag file: %w", err)
	}
	return &sink{file: file, files: files, path: path, buffer: make([]byte, 0, sinkBuffer)}, nil
}

// sync makes what was flushed survive a loss of power. It needs no lock.
func (s *sink) sync() error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	if s.named.Load() {
		return nil
	}
	if err := s.files.SyncDirectory(filepath.Dir(s.path)); err != nil {
		return err
	}
	s.named.Store(true)
	return nil
}

func (s *sink) Write(p []byte) (int, error) {
	if s.withCRC {
		s.crc = crc32.Update(s.crc, crc32.IEEETable, p)
	}
	if len(s.buffer)+len(p) <= cap(s.buffer) {
		s.buffer = append(s.buffer, p...)
		return len(p), nil
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	if len(p) < cap(s.buffer) {
		s.buffer = append(s.buffer, p...)
		return len(p), nil
	}
	n, err := s.file.Write(p)
	s.written += int64(n)
	return n, err
}

// writeVector hands the buffer and then the parts to the file, with one call as a rule.
func (s *sink) writeVector(parts [][]byte) error {
	if s.withCRC {
		for _, part := range parts {
			s.crc = crc32.Update(s.crc, crc32.IEEETable, part)
		}
	}
	s.vector = s.vector[:0]
	if len(s.buffer) > 0 {
		s.vector = append(s.vector, s.buffer)
	}
	s.vector = append(s.vector, parts...)
	err := s.writeParts()
	clear(s.vector) // payloads belong to the caller
	s.buffer = s.buffer[:0]
	return err
}

func (s *sink) writeParts() error {
	if file, ok := s.file.(*os.File); ok {
		n, err := writeVector(file, s.vector)
		s.written += n
		return err
	}
	for _, part := range s.vector {
		n, err := s.file.Write(part)
		s.written += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) flush() error {
	if len(s.buffer) == 0 {
		return nil
	}
	n, err := s.file.Write(s.buffer)
	s.written += int64(n)
	s.buffer = s.buffer[:0]
	return err
}

// offset is where the next byte will stand.
func (s *sink) offset() int64 { return s.written + int64(len(s.buffer)) }

// cutBack throws away what was written behind offset, as far as the disk lets it.
func (s *sink) cutBack(offset int64) error {
	s.buffer = s.buffer[:0]
	if s.written == offset {
		return nil
	}
	if err := s.file.Truncate(offset); err != nil {
		return fmt.Errorf("cut torn end off: %w", storage.WithoutPath(err))
	}
	s.written = offset
	return nil
}
