package sqlite3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"rosbagd/storage"
)

// database is a file that is only read, with the log or journal beside it. It takes no locks, so it never holds up a
// program that records: what was read while that program wrote into the file is thrown away and read again.
type database struct {
	path string
	file io.ReaderAt
	disk *os.File // file, or nil for one in memory
	size int64    // of a file in memory

	mu       sync.Mutex
	current  *snapshot
	seen     state
	log      *logReader
	index    *os.File // the -shm file
	journal  *os.File
	believed believed
}

var errBusy = errors.New("another program keeps writing the file")

// state is what tells that the pages of a database have changed, or may be about to.
type state struct {
	size      int64
	counter   uint32 // file change counter
	writing   bool
	log       fileID
	logHeader [logHeaderLen]byte
	moved     [2]uint32 // how far the log was moved into the file
	journal   fileID
}

type fileID struct {
	device, inode uint64
	size          int64 // of a journal
}

func openDatabase(path string) (*database, error) {
	file, err := storage.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &database{path: path, file: file, disk: file}, nil
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, file := range []*os.File{d.disk, d.index, d.journal} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	if d.log != nil {
		errs = append(errs, d.log.file.Close())
	}
	d.disk, d.index, d.journal, d.log, d.current = nil, nil, nil, nil, nil
	d.file = closedFile{}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", d.path, err)
	}
	return nil
}

type closedFile struct{}

func (closedFile) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }

// read calls work with the database as it is now. work may be called several times: what it did in a call that is not
// the last counts for nothing. try counts these calls: the more there were, the less work should read at once, so that
// it fits between two transactions of a program that writes.
func (d *database) read(work func(s *snapshot, try int) error) error {
	const tries = 2000
	for try := range tries {
		before, now, err := d.refresh()
		if err != nil {
			return err
		}
		if now != nil {
			err = work(now, try)
			after, stateErr := d.look()
			if stateErr != nil {
				return stateErr
			}
			if after == before && !after.writing {
				return err
			}
		}
		time.Sleep(time.Duration(1+try%20) * 100 * time.Microsecond)
	}
	return fmt.Errorf("read %s: %w", d.path, errBusy)
}

// refresh gives the newest snapshot, or none while somebody writes into the file.
func (d *database) refresh() (state, *snapshot, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := d.lookLocked()
	if err != nil || now.writing {
		return now, nil, err
	}
	logGrown := d.log != nil && d.log.grown()
	if d.current != nil && now == d.seen && !logGrown {
		return now, d.current, nil
	}
	fresh, err := d.build(now)
	if err != nil {
		return now, nil, err
	}
	d.current, d.seen = fresh, now
	return now, fresh, nil
}

func (d *database) look() (state, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lookLocked()
}

func (d *database) lookLocked() (state, error) {
	if d.disk == nil {
		if _, closed := d.file.(closedFile); closed {
			return state{}, fmt.Errorf("read %s: %w", d.path, os.ErrClosed)
		}
		return state{size: d.size}, nil
	}
	info, err := d.disk.Stat()
	if err != nil {
		return state{}, fmt.Errorf("read %s: %w", d.path, storage.WithoutPath(err))
	}
	now := state{size: info.Size(), writing: writeLocked(d.disk, sharedFirst, sharedLen)}
	var head [headerLen]byte
	n, err := d.disk.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return state{}, fmt.Errorf("read %s: %w", d.path, storage.WithoutPath(err))
	}
	if n == headerLen {
		now.counter = binary.BigEndian.Uint32(head[24:])
	}
	if now.log, err = identify(d.path + logSuffix); err != nil {
		return state{}, fmt.Errorf("read log of %s: %w", d.path, storage.WithoutPath(err))
	}
	if now.log.size > 0 {
		now.log.size = 0 // a log that only grows changes nothing that was read
		if err := d.openLog(&now); err != nil {
			return state{}, fmt.Errorf("read log of %s: %w", d.path, storage.WithoutPath(err))
		}
	} else {
		now.log = fileID{}
	}
	if now.journal, err = identify(d.path + journalSuffix); err != nil {
		return state{}, fmt.Errorf("read journal of %s: %w", d.path, storage.WithoutPath(err))
	}
	if now.journal.size == 0 || writeLocked(d.disk, reservedByte, 1) {
		now.journal = fileID{} // not there, or of a transaction that goes on
	}
	return now, nil
}

// openLog reads the head of the log and, when a program uses it, how far it has been moved into the file.
func (d *database) openLog(now *state) error {
	if d.log == nil || d.log.id != now.log {
		file, err := os.Open(d.path + logSuffix)
		if errors.Is(err, os.ErrNotExist) {
			now.log = fileID{}
			return nil
		}
		if err != nil {
			return err
		}
		if d.log != nil {
			_ = d.log.file.Close() // it was only read
		}
		if d.index != nil {
			_ = d.index.Close()
			d.index = nil
		}
		d.log = &logReader{file: file, id: now.log}
	}
	if _, err := d.log.file.ReadAt(now.logHeader[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if d.index == nil {
		index, err := os.Open(d.path + indexSuffix)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return nil // nobody uses the log, or not by way of this file
		}
		if err != nil {
			return err
		}
		d.index = index
	}
	// Struct WalCkptInfo of the wal-index (https://www.sqlite.org/walformat.html, section 2.2).
	var words [4]byte
	for i, offset := range []int64{96, 128} {
		if _, err := d.index.ReadAt(words[:], offset); err == nil {
			now.moved[i] = binary.NativeEndian.Uint32(words[:])
		}
	}
	return nil
}

func identify(path string) (fileID, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return fileID{}, nil
	}
	if err != nil {
		return fileID{}, err
	}
	if !info.Mode().IsRegular() {
		return fileID{}, nil
	}
	id := fileID{size: info.Size()}
	id.device, id.inode = inode(info)
	return id, nil
}

// build makes the snapshot of a state.
func (d *database) build(now state) (*snapshot, error) {
	s := &snapshot{path: d.path, file: d.file, size: now.size}
	head := make([]byte, headerLen)
	n, err := d.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", d.path, storage.WithoutPath(err))
	}
	if n < headerLen {
		return nil, &storage.CorruptionError{Path: d.path, Offset: int64(n), Err: storage.ErrEndsEarly}
	}
	var pages uint32
	switch {
	case now.log != fileID{}:
		if s.overlay, pages, err = d.log.overlay(); err != nil {
			return nil, fmt.Errorf("read log of %s: %w", d.path, storage.WithoutPath(err))
		}
	case now.journal != fileID{}:
		if s.overlay, pages, err = d.readJournal(); err != nil {
			return nil, fmt.Errorf("read journal of %s: %w", d.path, storage.WithoutPath(err))
		}
	}
	if s.overlay != nil {
		if offset, ok := s.overlay.offsets[1]; ok {
			if _, err := s.overlay.file.ReadAt(head, offset); err != nil {
				return nil, fmt.Errorf("read log of %s: %w", d.path, storage.WithoutPath(err))
			}
		}
	}
	if d.believed.all || !resembles(head) {
		clear(head)
	}
	if err := s.setHeader(head, d.believed.pageSize); err != nil {
		return nil, err
	}
	s.count = s.filePages()
	s.short = s.size%int64(s.pageSize) != 0 && s.overlay == nil
	if pages == 0 && bytes.Equal(head[24:28], head[92:96]) {
		pages = binary.BigEndian.Uint32(head[28:])
	}
	if pages != 0 {
		whole := uint32(s.size / int64(s.pageSize))
		s.short = pages > whole && !s.overlaid(whole+1, pages)
		s.count = max(min(s.count, pages), s.overlayEnd(pages))
	}
	return s, nil
}

// overlaid tells whether all pages of a range stand in the log.
func (s *snapshot) overlaid(first, last uint32) bool {
	if s.overlay == nil || int64(last)-int64(first) >= int64(len(s.overlay.offsets)) {
		return false
	}
	for n := first; n <= last; n++ {
		if _, ok := s.overlay.offsets[n]; !ok {
			return false
		}
	}
	return true
}

// overlayEnd is the largest page of the log that counts.
func (s *snapshot) overlayEnd(pages uint32) uint32 {
	var end uint32
	if s.overlay != nil {
		for n := range s.overlay.offsets {
			if n <= pages {
				end = max(end, n)
			}
		}
	}
	return end
}

// The bytes of a database that SQLite locks (os.h of SQLite, PENDING_BYTE and what follows it).
const (
	pendingByte  = 0x40000000
	reservedByte = pendingByte + 1
	sharedFirst  = pendingByte + 2
	sharedLen    = 510
)
