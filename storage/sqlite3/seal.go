package sqlite3

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rosbagd/storage"
)

// Seal implements storage.Writer: the newest metadata, then one plain file without a log beside it, on the disk.
func (w *Writer) Seal(metadata []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if err := w.end(); err != nil {
		return err
	}
	metadata, err := w.withOwn(metadata)
	if err != nil {
		return w.fail(err)
	}
	if err := w.insertMetadata(metadata); err != nil {
		return w.fail(err)
	}
	if err := w.leaveLog(); err != nil {
		return w.fail(err)
	}
	if err := w.durable.sync(); err != nil {
		w.failed = err
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	// The log's name is gone for good, too.
	return storage.SyncDirectory(filepath.Dir(w.path))
}

// leaveLog moves what the write-ahead log has into the file and removes the log, so that the file can be read from
// anywhere. Another program that still reads the file keeps the log where it is: nothing is lost then, and its last
// reader removes it.
func (w *Writer) leaveLog() error {
	mode, err := w.c.exec("PRAGMA journal_mode")
	if err != nil || !strings.EqualFold(mode, "wal") {
		return err
	}
	if err := w.durable.release(); err != nil {
		return err
	}
	// SQLite does not wait here, but a reader is gone in a moment.
	for range 100 {
		if _, err = w.c.exec("PRAGMA journal_mode = DELETE"); !busy(err) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := w.c.exec("PRAGMA wal_checkpoint(PASSIVE)"); err != nil && !busy(err) {
		return err
	}
	return nil
}

// Close implements storage.Writer. What was not flushed is lost.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close()
}

// close is called with mu held.
func (w *Writer) close() error {
	if w.c == nil {
		return w.durable.close()
	}
	if w.open {
		w.open = false
		_, _ = w.c.exec("ROLLBACK")
		w.forget()
	}
	for _, s := range []*statement{w.begin, w.commit, w.insert, w.pages} {
		s.finalize()
	}
	if w.failed == nil {
		w.failed = fmt.Errorf("write %s: %w", w.path, storage.ErrSealed)
	}
	err := errors.Join(w.durable.release(), w.c.close())
	w.c = nil
	if err != nil {
		err = fmt.Errorf("close %s: %w", w.path, err)
	}
	// The descriptors of Sync are closed last: see useFileLocks.
	return errors.Join(err, w.durable.close())
}
