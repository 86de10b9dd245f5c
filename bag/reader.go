package bag

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"rosbagd/storage"
)

// Reader reads a bag, or several as one. Its methods may be called from several goroutines, each with iterators of its
// own.
type Reader struct {
	path     string
	options  ReaderOptions
	metadata Metadata
	members  []*member
	files    []*file // of all members, in their order
	cache    *unpackCache

	mu      sync.Mutex // the fields below, and those of each file that say so
	byName  map[topicKey]storage.TopicID
	topics  []storage.TopicInfo
	notes   []string
	leftOut []string // those of the notes that are about files which are not read at all
	idle    []*file  // open and not in use, the one that waits longest first
	closed  bool
}

type topicKey struct{ name, typ string }

// Metadata is metadata.yaml, or what the files tell when there is none. For several bags it is that of a bag that has
// all their files, whose paths then begin with the path of their bag.
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

// note is called with mu held, or before anybody else has the Reader. Files are opened more than once; a note is told
// once.
func (r *Reader) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// leave notes that a file is not among files, because it can not be read; see note.
func (r *Reader) leave(format string, arguments ...any) {
	r.note(format, arguments...)
	r.leftOut = append(r.leftOut, fmt.Sprintf(format, arguments...))
}

// Definition gives the definition of a topic's type from the first file that has one. Its Encoding is empty when no
// file has. Files that can not be read are passed over, unless all of them are.
func (r *Reader) Definition(id storage.TopicID) (storage.Definition, error) {
	var first error
	for _, f := range r.files {
		definition, found, err := r.definitionIn(f, id)
		if found {
			return definition, nil
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return storage.Definition{}, first
}

func (r *Reader) definitionIn(f *file, id storage.TopicID) (storage.Definition, bool, error) {
	if definition, found := r.definitionInStream(f, id); found {
		return definition, true, nil
	}
	if _, err := r.acquire(f); err != nil {
		return storage.Definition{}, false, err
	}
	r.mu.Lock()
	definition, found := f.definitions[id]
	r.mu.Unlock()
	return definition, found, r.release(f)
}

// Close closes all files. Iterators must not be used afterwards; messages that they gave may be.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed = true
	r.idle = nil
	var open []opened
	for _, f := range r.files {
		open = append(open, f.opened)
		f.opened = opened{}
	}
	r.mu.Unlock()
	var errs []error
	for _, o := range open {
		errs = append(errs, o.close())
	}
	return errors.Join(append(errs, r.cache.close())...)
}

// indexTopics is called when all members are open.
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

// mapTopics is called with mu held.
func (r *Reader) mapTopics(f *file) {
	f.topics, f.definitions = nil, map[storage.TopicID]storage.Definition{}
	f.origins = map[storage.TopicID]describedTopic{}
	for i, topic := range storage.Outline(f.reader).Topics {
		id := r.topicID(f.path, topic)
		f.topics = append(f.topics, id)
		if _, ok := f.definitions[id]; !ok && topic.Definition.Encoding != "" {
			f.definitions[id] = topic.Definition
		}
		if _, ok := f.origins[id]; !ok {
			f.origins[id] = describedTopic{storage.TopicID(i), topic.Topic}
		}
	}
}

// topicID is called with mu held. A topic that the metadata does not list is added, so that no message is lost silently.
func (r *Reader) topicID(path string, topic storage.TopicInfo) storage.TopicID {
	key := topicKey{topic.Name, topic.Type}
	id, ok := r.byName[key]
	if !ok {
		id = storage.TopicID(len(r.topics))
		r.byName[key] = id
		topic.Definition = storage.Definition{}
		r.topics = append(r.topics, topic)
		r.note("%s: topic %s is not in the metadata", path, topic.Name)
	}
	return id
}

func sizeOf(path string) (int64, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

func (r *Reader) topic(id storage.TopicID) storage.Topic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.topics[id].Topic
}
