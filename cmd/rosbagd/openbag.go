package main

import (
	"errors"
	"io"

	"rosbagd/bag"
	"rosbagd/storage"
)

// openBag opens a bag for a verb that shows or plays it, and looks at the ends of its files.
func openBag(path, storageID string) (*bag.Reader, error) {
	reader, err := bag.Open(path, bag.ReaderOptions{StorageID: storageID})
	if err != nil {
		return nil, bagError(err)
	}
	reader.CheckFiles()
	return reader, nil
}

// printNotes tells what is missing or damaged in a bag, as far as it was met until now.
func printNotes(w io.Writer, reader *bag.Reader) {
	for _, note := range reader.Notes() {
		printWarning(w, "%s", note)
	}
}

// bagError makes wrong usage of errors about what was asked for, as opposed to what is in the bag.
func bagError(err error) error {
	var missing *bag.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, storage.ErrUnknownStorage) || errors.Is(err, bag.ErrOtherStorage) ||
		errors.Is(err, bag.ErrNoDirectory) {
		return &usageError{err}
	}
	return err
}
