package bag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeFile puts a file in place so that a reader sees the old one or the new one, whole, whatever happens.
func writeFile(path string, data []byte) error {
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("create %s: %w", temporary, err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", temporary, err), os.Remove(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(fmt.Errorf("put %s in place: %w", path, err), os.Remove(temporary))
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := directory.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync directory: %w", err), directory.Close())
	}
	return directory.Close()
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
	return syncDirectory(filepath.Dir(path))
}
