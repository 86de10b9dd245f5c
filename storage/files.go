package storage

import (
	"io"
	"os"
)

// File is what a Writer needs of the file that it writes.
type File interface {
	io.Writer
	// Truncate cuts the file; what is written next stands at its new end.
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Files is where a Writer's file is made: OSFiles, or what a test puts in its place to see what a failing disk or a loss
// of power leaves behind.
type Files interface {
	// Create makes a file, which must not exist.
	Create(path string) (File, error)
	Remove(path string) error
	// SyncDirectory makes the names of files in a directory survive a loss of power.
	SyncDirectory(path string) error
}

// OSFiles are the files of the operating system.
type OSFiles struct{}

// Create implements Files.
func (OSFiles) Create(path string) (File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err // and no File that is not nil but holds nil
	}
	return file, nil
}

// Remove implements Files.
func (OSFiles) Remove(path string) error { return os.Remove(path) }

// SyncDirectory implements Files.
func (OSFiles) SyncDirectory(path string) error { return SyncDirectory(path) }
