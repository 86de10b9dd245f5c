package bag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// Reader reads a bag. Its methods may be called from several goroutines, each with iterators of its own.
type Reader struct {
	path     string
	options  ReaderOptions
	metadata Metadata
	files    []*file

	mu     sync.Mutex // the fields below and the reader of each file
	byName map[topicKey]storage.TopicID
	topics []storage.TopicInfo
	notes  []string
}

type topicKey struct{ name, typ string }

// file is one file of the bag, opened when needed.
type file struct {
	path      string
	size      int64
	described FileInfo
	known     bool // described tells the times
	reader    storage.Reader
	topics    []storage.TopicID // by the file's topic id
}

// Metadata is metadata.yaml, or what the files tell when there is none.
func (r *Reader) Metadata() Metadata { return r.metadata }

// Path is what Open was given.
func (r *Reader) Path() string { return r.path }

// Files are the paths of the bag's files in their order.
func (r *Reader) Files() []string {
	paths := make([]string, 0, len(r.files))
	for _, f := range r.files {
		paths = append(paths, f.path)
	}
	return paths
}

// Size is the size of all files, in bytes.
func (r *Reader) Size() int64 {
	var size int64
	for _, f := range r.files {
		size += f.size
	}
	return size
}

// Topics lists the topics; a TopicID of this reader is a position in it. Definitions are not set, see Definition.
func (r *Reader) Topics() []storage.TopicInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.topics)
}

// Notes are sentences about what is missing or damaged, as far as it was met until now.
func (r *Reader) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

func (r *Reader) addNote(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(format, arguments...)
}

// note is called with mu held, or before anybody else has the Reader.
func (r *Reader) note(format string, arguments ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, arguments...))
}

// Definition gives the definition of a topic's type from the first file that has one. Its Encoding is empty when no
// file has.
func (r *Reader) Definition(id storage.TopicID) (storage.Definition, error) {
	for _, f := range r.files {
		reader, err := r.use(f)
		if err != nil {
			return storage.Definition{}, err
		}
		for i, topic := range reader.Info().Topics {
			if f.topics[i] == id && topic.Definition.Encoding != "" {
				return topic.Definition, nil
			}
		}
	}
	return storage.Definition{}, nil
}

// Close closes all files.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, f := range r.files {
		if f.reader != nil {
			errs = append(errs, f.reader.Close())
			f.reader = nil
		}
	}
	return errors.Join(errs...)
}

func (r *Reader) indexTopics() {
	r.byName = map[topicKey]storage.TopicID{}
	for i, topic := range r.metadata.Topics {
		r.byName[topicKey{topic.Name, topic.Type}] = storage.TopicID(i)
	}
	r.topics = slices.Clone(r.metadata.Topics)
	for _, f := range r.files {
		if f.reader != nil {
			r.mapTopics(f)
		}
	}
}

// mapTopics is called with mu held. A topic that the metadata does not list is added, so that no message is lost
// silently.
func (r *Reader) mapTopics(f *file) {
	f.topics = nil
	for _, topic := range f.reader.Info().Topics {
		key := topicKey{topic.Name, topic.Type}
		id, ok := r.byName[key]
		if !ok {
			id = storage.TopicID(len(r.topics))
			r.byName[key] = id
			topic.Definition = storage.Definition{}
			r.topics = append(r.topics, topic)
			r.note("%s: topic %s is not in the metadata", f.path, topic.Name)
		}
		f.topics = append(f.topics, id)
	}
}

// openFile opens a file on which the metadata says nothing.
func (r *Reader) openFile(path string) (*file, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open bag file: %w", err)
	}
	f := &file{path: path, size: stat.Size()}
	if f.reader, err = r.openStorage(path); err != nil {
		return nil, err
	}
	info := f.reader.Info()
	f.described, f.known = fileInfo(filepath.Base(path), info), true
	if info.Damage != "" {
		r.note("%s: %s", path, info.Damage)
	}
	return f, nil
}

func (r *Reader) openStorage(path string) (storage.Reader, error) {
	if r.options.StorageID == "" {
		format, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		return format.Open(path, storage.OpenOptions{Config: r.options.Config})
	}
	format, err := formats.Lookup(r.options.StorageID)
	if err != nil {
		return nil, err
	}
	return format.Open(path, storage.OpenOptions{Config: r.options.Config})
}

// use opens a listed file when it is not open yet.
func (r *Reader) use(f *file) (storage.Reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.reader != nil {
		return f.reader, nil
	}
	if mode := r.metadata.CompressionMode; mode != "" {
		return nil, fmt.Errorf("open %s: compression mode %s: %w", f.path, mode, storage.ErrUnsupported)
	}
	reader, err := r.openStorage(f.path)
	if err != nil {
		return nil, err
	}
	f.reader = reader
	if damage := reader.Info().Damage; damage != "" {
		r.note("%s: %s", f.path, damage)
	}
	r.mapTopics(f)
	return reader, nil
}
