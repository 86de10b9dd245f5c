package sqlite3

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"rosbagd/storage"

	lib "modernc.org/sqlite/lib"
)

// logPragmas are set before those of preset and config.
func logPragmas() []string {
	return []string{
		checkpointPragma,
		"journal_size_limit = 0", // a log that is begun anew is cut, so that its size tells how much is in it
	}
}

const (
	// checkpointPragma makes SQLite move the log into the file when it has 256 MiB, instead of 4: each time holds up a
	// commit for two syncs. Sync, which holds up nobody, moves it from moveLen on, so that SQLite has little left to do.
	checkpointPragma = "wal_autocheckpoint = 65536"
	moveLen          = 32 << 20
)

// durable syncs the file and its write-ahead log through descriptors of its own: synchronous = NORMAL does not sync at
// commit, and SQLite has no call that syncs a log without holding up its writer.
type durable struct {
	path string
	file *os.File

	moving sync.Mutex  // held while mover works
	mover  *connection // a second connection, made when it is first needed
	// released tells that the log is about to go.
	released bool

	mu     sync.Mutex // the fields below; not held while the disk is waited for
	log    *os.File   // the -wal file, nil without one
	shared *os.File   // the -shm file, nil without one
	named  bool       // the directory was synced since the files were made
	failed error      // a sync that failed: what the disk lost is not known, so it is never tried again
	closed bool
	syncs  sync.WaitGroup
}

// start looks for the files beside the database, which are there once the first transaction is committed.
func (d *durable) start() error {
	log, err := os.OpenFile(d.path+logSuffix, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	shared, err := os.OpenFile(d.path+indexSuffix, os.O_RDWR, 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, log.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = log
	if err == nil {
		d.shared = shared
		// SQLite's own lock on this byte, which says that somebody uses the log, is of the kind that is lost when
		// anything in this process opens and closes the file. This one is not. A system without such locks has to do
		// with SQLite's.
		_ = lockShared(shared, deadManByte, 1)
	}
	return nil
}

// sync waits for the disk. After a failure the operating system may take the lost data for written, so a second try would
// tell a lie: it is final.
func (d *durable) sync() error {
	d.mu.Lock()
	if d.closed || d.failed != nil {
		defer d.mu.Unlock()
		return d.failed
	}
	d.syncs.Add(1)
	log := d.log
	d.mu.Unlock()
	defer d.syncs.Done()
	err := d.syncFiles(log)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.failed = err
	}
	return err
}

// syncFiles begins with the log: a file without it is older, a file newer than its log is not there.
func (d *durable) syncFiles(log *os.File) error {
	if log != nil {
		if err := log.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", d.path, storage.WithoutPath(err))
		}
	}
	if err := d.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", d.path, storage.WithoutPath(err))
	}
	if err := d.syncNames(); err != nil {
		return err
	}
	if log != nil {
		return d.move(log)
	}
	return nil
}

// syncNames makes the names of the files survive, once.
func (d *durable) syncNames() error {
	d.mu.Lock()
	named := d.named
	d.mu.Unlock()
	if named {
		return nil
	}
	if err := storage.SyncDirectory(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named = true
	return nil
}

// move brings a long log into the file, beside whoever writes. What is written meanwhile stays in the log.
func (d *durable) move(log *os.File) error {
	info, err := log.Stat()
	if err != nil || info.Size() < moveLen {
		return err
	}
	d.moving.Lock()
	defer d.moving.Unlock()
	if d.released {
		return nil
	}
	if d.mover == nil {
		absolute, err := filepath.Abs(d.path)
		if err != nil {
			return fmt.Errorf("sync %s: %w", d.path, err)
		}
		if d.mover, err = connect(absolute, "", lib.SQLITE_OPEN_READWRITE); err != nil {
			return fmt.Errorf("sync %s: %w", d.path, err)
		}
	}
	if _, err := d.mover.exec("PRAGMA wal_checkpoint(PASSIVE)"); err != nil && !busy(err) {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	return nil
}

// release lets SQLite end its use of the log, when only the writer's connection is left.
func (d *durable) release() error {
	d.moving.Lock()
	d.released = true
	var err error
	if d.mover != nil {
		err = d.mover.close()
		d.mover = nil
	}
	d.moving.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shared != nil {
		_ = unlock(d.shared, deadManByte, 1) // one that was never held is none to give back
	}
	return err
}

// close ends it, after a sync that is under way.
func (d *durable) close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	files := []*os.File{d.file, d.log, d.shared}
	d.mu.Unlock()
	d.syncs.Wait()
	var errs []error
	for _, file := range files {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// The files that SQLite keeps beside a database, and the bytes that it locks (https://www.sqlite.org/walformat.html,
// section 2.3, and https://www.sqlite.org/fileformat2.html).
const (
	logSuffix     = "-wal"
	indexSuffix   = "-shm"
	journalSuffix = "-journal"

	deadManByte = 128 // of the -shm file: held as long as somebody uses it
)

func companions() []string { return []string{logSuffix, indexSuffix, journalSuffix} }
