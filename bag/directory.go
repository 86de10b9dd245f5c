package bag

import (
	"fmt"
	"io/fs"
	"os"

	"rosbagd/storage"
)

// directory is the bag directory, whatever its name becomes. Names are relative to it.
type directory interface {
	Name() string // the path under which it was opened
	// Create makes a file for writing, or empties the one that is there.
	Create(name string) (storage.File, error)
	Open(name string) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
	Stat(name string) (fs.FileInfo, error)
	// Sync makes the names in it survive a loss of power.
	Sync() error
	Close() error
}

// rootDirectory is a directory of the operating system.
type rootDirectory struct{ *os.Root }

func openDirectory(path string) (directory, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return rootDirectory{root}, nil
}

func (d rootDirectory) Create(name string) (storage.File, error) {
	file, err := d.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err // and no File that is not nil but holds nil
	}
	return file, nil
}

func (d rootDirectory) Sync() error {
	opened, err := d.Root.Open(".")
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	return storage.SyncAndClose(opened)
}
