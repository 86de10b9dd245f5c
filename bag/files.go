package bag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rosbagd/storage"
)

// writeFile puts a file in place so that a reader sees the old one or the new one, whole, whatever happens. It works on
// the open directory: one that was moved meanwhile is still the right one, and one that took its place is left alone.
func writeFile(directory directory, name string, data []byte) error {
	temporary := name + temporaryExtension
	file, err := directory.Create(temporary)
	if err != nil {
		return fmt.Errorf("create %s: %w", filepath.Join(directory.Name(), temporary), storage.WithoutPath(err))
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(directory.Name(), temporary), storage.WithoutPath(err)), directory.Remove(temporary))
	}
	return putInPlace(directory, temporary, name)
}

// putInPlace gives a whole, synced file its final name.
func putInPlace(directory directory, temporary, name string) error {
	path := filepath.Join(directory.Name(), name)
	if err := directory.Rename(temporary, name); err != nil {
		return errors.Join(fmt.Errorf("put %s in place: %w", path, storage.WithoutPath(err)), directory.Remove(temporary))
	}
	if err := directory.Sync(); err != nil {
		return fmt.Errorf("put %s in place: %w", path, err)
	}
	return nil
}

// temporaryExtension is that of files which are not whole yet; nobody reads them.
const temporaryExtension = ".tmp"

// maxMetadata bounds what is read as metadata.yaml: 10,000 topics take 10 MB. Parsed it takes many times its size.
const maxMetadata = 64 << 20

// readMetadataFile reads metadata.yaml, which must be a regular file of a plausible size.
func readMetadataFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, storage.ErrNotRegular)
	case info.Size() > maxMetadata:
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d are read", path, ErrMetadata, info.Size(), maxMetadata)
	}
	return os.ReadFile(path)
}

// makeDirectory creates the bag directory, which must not exist, with its parents.
func makeDirectory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s: %w", path, ErrExists)
		}
		return err
	}
	return storage.SyncDirectory(filepath.Dir(path))
}
