package mcap

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"rosbagd/storage"
)

// sink is the file below the library's writer. It joins small writes, passes large ones through, and can go back to
// the end of the last whole chunk.
type sink struct {
	file    sinkFile
	buffer  []byte
	written int64 // bytes in the file, without the buffer
	crc     uint32
	withCRC bool // compute crc over what passes
}

// sinkFile is what sink needs of an os.File.
type sinkFile interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

const sinkBuffer = 64 << 10

// createSink makes the file under its final name and syncs its directory, so that the name survives a loss of power.
func createSink(path string) (*sink, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("create bag file: %w", err)
	}
	if err := storage.SyncDirectory(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &sink{file: file, buffer: make([]byte, 0, sinkBuffer)}, nil
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
	if err := s.file.Truncate(offset); err != nil {
		return err
	}
	s.written = offset
	return nil
}
