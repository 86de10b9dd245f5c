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
func writeFile(directory *os.Root, name string, data []byte) error {
	temporary := name + ".tmp"
	file, err := directory.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("create %s: %w", filepath.Join(directory.Name(), temporary), err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(directory.Name(), temporary), err), directory.Remove(temporary))
	}
	if err := directory.Rename(temporary, name); err != nil {
		return errors.Join(fmt.Errorf("put %s in place: %w", filepath.Join(directory.Name(), name), err), directory.Remove(temporary))
	}
	opened, err := directory.Open(".")
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	return storage.SyncAndClose(opened)
}

// maxMetadata bounds what is read as metadata.yaml: 10,000 topics take 10 MB.
const maxMetadata = 256 << 20

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
