package bag

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// maxIdle is how many files stay open that nobody reads, for the next seek.
const maxIdle = 8

// file is one file of a bag. It is open while it is in use, and for a while after that.
type file struct {
	member *member
	path   string
	size   int64
	// plain is the same file without compression, when both are there; empty otherwise.
	plain string
	// refused says why a listed file is not even looked at.
	refused error

	opening sync.Mutex // held while the file is opened, which can take long

	// Guarded by Reader.mu from Open on.
	described    FileInfo
	told         bool  // described is what metadata.yaml tells
	known        bool  // described tells the times
	endNanos     int64 // no message is later, as far as is known; set where known is
	firstSent    int64
	hasFirstSent bool
	opened
	users   int
	damaged bool
	topics  []storage.TopicID // by the file's topic id
}

// opened is an open file, and the lock on what was unpacked for it.
type opened struct {
	reader storage.Reader
	lock   *os.File
	// definitions are those of the file, by the topics of the bag.
	definitions map[storage.TopicID]storage.Definition
	origins     map[storage.TopicID]describedTopic
}

// describedTopic is the first topic of a file that is a topic of the bag.
type describedTopic struct {
	id    storage.TopicID // in the file
	topic storage.Topic
}

func (o opened) close() error {
	if o.reader == nil {
		return nil
	}
	err := o.reader.Close()
	if o.lock != nil {
		err = errors.Join(err, o.lock.Close())
	}
	return err
}

// acquire opens a file when it is not open; each call needs a release.
func (r *Reader) acquire(f *file) (storage.Reader, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	r.mu.Lock()
	if f.reader != nil {
		f.users++
		r.idle = slices.DeleteFunc(r.idle, func(other *file) bool { return other == f })
		defer r.mu.Unlock()
		return f.reader, nil
	}
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("open %s: bag reader: %w", f.path, fs.ErrClosed)
	}
	storageFile, err := r.openStorage(f)
	if err != nil {
		return nil, err
	}
	damage := storage.Outline(storageFile.reader).Damage
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.Join(fmt.Errorf("open %s: bag reader: %w", f.path, fs.ErrClosed), storageFile.close())
	}
	f.opened, f.users = storageFile, 1
	f.damaged = f.damaged || damage != ""
	if damage != "" {
		r.note("%s: %s", f.path, damage)
	}
	if r.byName != nil {
		r.mapTopics(f)
	}
	return f.reader, nil
}

// release lets a file be closed, now or when others need its place.
func (r *Reader) release(f *file) error {
	r.mu.Lock()
	f.users--
	if f.users > 0 || f.reader == nil {
		r.mu.Unlock()
		return nil
	}
	r.idle = append(r.idle, f)
	var out opened
	if len(r.idle) > maxIdle {
		out, r.idle[0].opened = r.idle[0].opened, opened{}
		r.idle = slices.Delete(r.idle, 0, 1)
	}
	r.mu.Unlock()
	return out.close()
}

// openStorage opens the file itself, or what is unpacked of it.
func (r *Reader) openStorage(f *file) (opened, error) {
	if f.refused != nil {
		return opened{}, f.refused
	}
	if f.plain != "" {
		reader, err := r.openPlain(f.plain)
		if err == nil && f.whole(storage.Outline(reader)) {
			return opened{reader: reader}, nil
		}
		if err == nil {
			if err := reader.Close(); err != nil {
				return opened{}, err
			}
		}
		r.addNote("%s: not whole, %s is read", f.plain, filepath.Base(f.path))
	}
	if r.options.StorageID == "" { // the content tells most files at once
		format, err := formats.Detect(f.path)
		if err == nil {
			reader, err := format.Open(f.path, storage.OpenOptions{Config: r.options.Config})
			return opened{reader: reader}, err
		}
		if !errors.Is(err, storage.ErrUnknownFormat) {
			return opened{}, err
		}
	}
	packed, err := isPacked(f.path)
	if err != nil {
		return opened{}, err
	}
	if packed {
		return r.openPacked(f)
	}
	reader, err := r.openPlain(f.path)
	return opened{reader: reader}, err
}

// whole says whether a file has all that there should be in it.
func (f *file) whole(info storage.Info) bool {
	return info.Damage == "" && (!f.known || info.MessageCount >= f.described.MessageCount)
}

func (r *Reader) openPlain(path string) (storage.Reader, error) {
	format, err := r.formatOf(path)
	if err != nil {
		return nil, err
	}
	reader, err := format.Open(path, storage.OpenOptions{Config: r.options.Config})
	if errors.Is(err, storage.ErrUnknownFormat) {
		if other, detectErr := formats.Detect(path); detectErr == nil && other.ID != format.ID {
			return nil, fmt.Errorf("open %s as %s: %w: storage %s", path, format.ID, ErrOtherStorage, other.ID)
		}
	}
	return reader, err
}

func (r *Reader) formatOf(path string) (storage.Format, error) {
	if r.options.StorageID == "" {
		return formats.DetectDamaged(path)
	}
	return formats.Lookup(r.options.StorageID)
}

// firstMessage is the first message of a file that can be read; found is false when there is none. Damage before it is
// told to who reads the messages.
func firstMessage(reader storage.Reader, query storage.Query) (m storage.Message, found bool, err error) {
	it, err := reader.Messages(query)
	if err != nil {
		return m, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for {
		m, err = it.Next()
		switch {
		case err == nil:
			return m, true, nil
		case errors.Is(err, io.EOF):
			return m, false, nil
		case !storage.IsCorruption(err):
			return m, false, err
		}
	}
}

// learn gives what a file itself tells, and keeps it when the metadata does not tell it.
func (r *Reader) learn(f *file) (storage.Info, error) {
	reader, err := r.acquire(f)
	if err != nil {
		return storage.Info{}, err
	}
	info := storage.Outline(reader)
	r.mu.Lock()
	if !f.known {
		f.described, f.known = fileInfo(f.described.Path, info), true
		f.endNanos = f.described.EndNanos()
	}
	r.mu.Unlock()
	return info, r.release(f)
}
