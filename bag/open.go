package bag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// ReaderOptions are the settings of Open.
type ReaderOptions struct {
	// StorageID is the format to use instead of the one that metadata or content tell; empty for these.
	StorageID string
	// Config is a storage config file for reading.
	Config storage.Config
	// Unpack says where and how compressed files are unpacked.
	Unpack UnpackOptions
}

// Open opens a bag directory, with or without metadata.yaml, or a single bag file. With metadata.yaml no file is opened
// before its messages are wanted.
func Open(path string, options ReaderOptions) (*Reader, error) {
	return OpenAll([]string{path}, options)
}

// OpenAll opens several bags as one, whose messages are merged. Topics of the same name are one topic, with the offers
// of all; two types of one topic are a *TypeConflictError. The order ByFile is bag after bag.
func OpenAll(paths []string, options ReaderOptions) (*Reader, error) {
	if options.StorageID != "" {
		if _, err := formats.Lookup(options.StorageID); err != nil {
			return nil, fmt.Errorf("open bag: %w", err)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("open bag: %w", ErrNoBag)
	}
	r, err := newReader(strings.Join(paths, ", "), options)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := r.openMember(path); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	if err := r.join(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.indexTopics()
	return r, nil
}

// newReader makes a Reader without a file.
func newReader(path string, options ReaderOptions) (*Reader, error) {
	cache, err := newUnpackCache(options.Unpack)
	if err != nil {
		return nil, fmt.Errorf("open bag: %w", err)
	}
	return &Reader{path: path, options: options, cache: cache}, nil
}

// openFound opens a bag directory as if it had no metadata.yaml.
func openFound(path string, options ReaderOptions) (*Reader, error) {
	r, err := newReader(path, options)
	if err != nil {
		return nil, err
	}
	m := &member{reader: r, path: path}
	err = m.openWithoutMetadata()
	r.members, r.files, r.metadata = []*member{m}, m.files, m.metadata
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.indexTopics()
	return r, nil
}

// member is one of the bags of a Reader.
type member struct {
	reader   *Reader
	path     string
	metadata Metadata
	files    []*file
	// times narrows every query.
	times TimeRange
	// rebuilt says that the metadata is what the files tell.
	rebuilt bool
	// copied is the copy of the metadata in the files that tells most topics, the newest of those; nil when there is none.
	copied *Metadata
	// decompress unpacks a message; nil when messages are not compressed one by one.
	decompress func(dst, frame []byte) ([]byte, error)
}

func (r *Reader) openMember(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return &NotFoundError{Path: path}
		}
		return fmt.Errorf("open bag: %w", err)
	}
	if !info.IsDir() && filepath.Base(path) == MetadataName {
		return fmt.Errorf("open %s: %w, give the directory that it is in", path, storage.ErrUnknownFormat)
	}
	m := &member{reader: r, path: path}
	if info.IsDir() {
		err = m.openDirectory()
	} else {
		err = m.openFiles([]string{path})
	}
	r.members = append(r.members, m)
	r.files = append(r.files, m.files...)
	if err != nil {
		return err
	}
	for _, f := range m.files {
		r.noteStrayLog(f.path)
	}
	if m.rebuilt && m.copied != nil {
		m.metadata.addOffers(m.copied.Topics)
	}
	return m.chooseMessageMode()
}

func (m *member) openDirectory() error {
	err := m.openWithMetadata()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return m.openWithoutMetadata()
	case !errors.Is(err, ErrMetadata) && !errors.Is(err, storage.ErrUnknownStorage):
		return err
	}
	// The files tell all that is needed; what metadata.yaml keeps beyond that is lost either way.
	if m.openWithoutMetadata() != nil {
		return err
	}
	m.reader.note("%v; it is passed over, the files are read", err)
	return nil
}

func (m *member) addFile(f *file) {
	f.member = m
	m.files = append(m.files, f)
}
