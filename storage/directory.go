package storage

import (
	"errors"
	"fmt"
	"os"
)

// SyncDirectory makes the names of new and renamed files in a directory survive a loss of power.
func SyncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	return SyncAndClose(directory)
}

// SyncAndClose is SyncDirectory for a directory that is open.
func SyncAndClose(directory *os.File) error {
	if err := directory.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync directory: %w", err), directory.Close())
	}
	return directory.Close()
}
