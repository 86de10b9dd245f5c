package main

import (
	"errors"
	"io"
	"path/filepath"
	"sync"

	"rosbagd/bag"
	"rosbagd/storage"
)

// showUnpacking draws a bar for the files of a bag, one after the other.
func showUnpacking(stderr io.Writer) func(bag.UnpackProgress) {
	var mu sync.Mutex
	bars := map[string]*bar{}
	return func(p bag.UnpackProgress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Bytes >= p.Total {
			if drawn := bars[p.Path]; drawn != nil {
				drawn.clear()
			}
			delete(bars, p.Path)
			return
		}
		if bars[p.Path] == nil {
			bars[p.Path] = newBar(stderr, "unpacking "+filepath.Base(p.Path))
		}
		bars[p.Path].show(float64(p.Bytes) / float64(p.Total))
	}
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
