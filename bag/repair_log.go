package bag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rosbagd/storage"
)

// logSuffixes are those of the files that SQLite keeps beside a database and that belong to its content.
var logSuffixes = []string{"-wal", "-journal"}

// strayLogs are the logs of a database that a repair has renamed and not replaced: it was ended between the two, and the
// name still is that of the old database. What a finished repair has set aside belongs to another content than the file
// has now, and stays there.
func strayLogs(path string) (suffixes []string, aside string, err error) {
	for _, suffix := range logSuffixes {
		if _, err := os.Lstat(path + suffix); err == nil {
			return nil, "", nil // it has a log
		}
	}
	for n := 0; ; n++ {
		aside = brokenCandidate(path, n)
		if _, err := os.Lstat(aside); err != nil {
			return nil, "", nil //nolint:nilerr // no more of them, or none that could be used
		}
		for _, suffix := range logSuffixes {
			if _, err := os.Lstat(aside + suffix); err == nil {
				suffixes = append(suffixes, suffix)
			}
		}
		if len(suffixes) == 0 {
			continue
		}
		if same, err := sameContent(path, aside); err != nil || same {
			return suffixes, aside, err
		}
		suffixes = nil
	}
}

// putLogsBack undoes what such a repair had begun.
func putLogsBack(path string) error {
	suffixes, aside, err := strayLogs(path)
	for _, suffix := range suffixes {
		if err == nil {
			err = os.Rename(aside+suffix, path+suffix)
		}
	}
	if err == nil && len(suffixes) > 0 {
		err = storage.SyncDirectory(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("put log of %s back: %w", path, err)
	}
	return nil
}

// noteStrayLog tells of messages that are in a log which a repair has put out of reach.
func (r *Reader) noteStrayLog(path string) {
	if suffixes, aside, err := strayLogs(path); err == nil && len(suffixes) > 0 {
		r.note("%s: %s", path, strayLogText(aside+suffixes[0]))
	}
}

func strayLogText(log string) string {
	return fmt.Sprintf("its log is %s, since a repair was ended in the middle: 'rosbagd reindex' puts it back", log)
}

// sameContent tells whether two names have one content: they are one file, or one is a copy of the other.
func sameContent(one, other string) (same bool, err error) {
	a, err := os.Stat(one)
	if err != nil {
		return false, err
	}
	b, err := os.Stat(other)
	if err != nil || os.SameFile(a, b) {
		return err == nil, err
	}
	if !a.Mode().IsRegular() || !b.Mode().IsRegular() || a.Size() != b.Size() {
		return false, nil
	}
	from, err := os.Open(one)
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := os.Open(other)
	if err != nil {
		return false, err
	}
	defer to.Close()
	return equalStreams(from, to)
}

func equalStreams(a, b io.Reader) (bool, error) {
	pieceA, pieceB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, pieceA)
		m, errB := io.ReadFull(b, pieceB)
		if !bytes.Equal(pieceA[:n], pieceB[:m]) {
			return false, nil
		}
		for _, err := range []error{errA, errB} {
			switch {
			case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
				return true, nil
			case err != nil:
				return false, err
			}
		}
	}
}
