package main

import (
	"errors"
	"fmt"
	"os"

	"rosbagd/storage"
)

// maxOptionsFile bounds what is read as a file of options, in bytes.
const maxOptionsFile = 1 << 20

// readOptionsFile reads a file that a flag, or another file of options, names. One that is not there, or is none that can
// be read to its end, is a wrong call.
func readOptionsFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("%s: there is no such file", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, usagef("%s: %w", path, storage.ErrNotRegular)
	case info.Size() > maxOptionsFile:
		return nil, fmt.Errorf("%s: is %d bytes large, at most %d are read", path, info.Size(), maxOptionsFile)
	}
	return os.ReadFile(path)
}
