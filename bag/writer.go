package bag

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/qos"
)

// Writer writes a bag. AddTopic, Write and Split belong to one goroutine; SetCustomData, UpdateTopic and Metadata may
// be called from others.
type Writer struct {
	path       string
	directory  directory
	ground     ground
	format     storage.Format
	options    WriterOptions
	log        *zap.Logger
	messages   *messageCompressor // nil unless messages are compressed
	closable   chan struct{}      // tells Run that closing is not empty
	sealedFile chan struct{}      // tells Run that uncompressed is not empty
	stop       chan struct{}      // closed by Seal
	running    sync.WaitGroup
	release    func() // of the space for the metadata, once
	// steps counts the beginnings and ends of what may wait for the disk: odd while something does.
	steps atomic.Uint64

	// metadataMu makes the copies of the metadata get older never, on disk too. It is taken before mu.
	metadataMu sync.Mutex

	mu              sync.Mutex // the fields below; never held while a disk is waited for longer than a write
	current         *part
	files           []*part                           // all, in order, current included
	closing         []*part                           // no longer written to, to be sealed
	unsealed        int                               // those in closing, and the one that is being sealed
	uncompressed    []*part                           // sealed, to be compressed
	published       int                               // how many of files metadata.yaml has
	topics          []storage.Topic                   // with the offers that the files have
	offers          map[storage.TopicID][]qos.Profile // newer ones than those of topics
	counts          []uint64                          // by topic, of the files that are no longer current
	firstFile       []int                             // by topic, how many files there were when it was added
	publishedCounts []uint64                          // of the files that metadata.yaml names
	byName          map[string]storage.TopicID
	origins         map[string]origin // by name, of topics whose blocks are copied; see copy.go
	custom          map[string]string
	unflushed       time.Time // when the oldest message that may be in memory was written; zero for none
	unsynced        bool      // something was flushed since the last sync
	failed          error
	compression     error // why files stayed uncompressed; costs no message
	ran             bool  // Run was called
	sealed          bool
}

// part is one file of the bag.
type part struct {
	name     string // relative to the directory, as it is written
	final    string // as metadata.yaml lists it: name, or that of the compressed file once it is there
	writer   storage.Writer
	info     storage.Info // final once the file is no longer current
	finished bool         // sealed, and compressed if that was asked for and possible
	opened   string       // the file that follows it

	// Of the current file, and the writing goroutine's: whether and when to split.
	written bool  // it has a message
	first   int64 // smallest log time; the largest int64 before the first message
	room    int64 // bytes that may be added before the size has to be looked at
	overdue bool  // it should have been split
}

// ground is what a Writer stands on: formats and directories of this program, or what a test puts in their place.
type ground struct {
	lookup func(id string) (storage.Format, error)
	files  storage.Files
	open   func(path string) (directory, error)
}

// Create makes the directory, its parents and the first file. A path that exists is ErrExists and stays as it is.
func Create(directory string, options WriterOptions) (*Writer, error) {
	return createOn(ground{lookup: formats.Lookup, files: storage.OSFiles{}, open: openDirectory}, directory, options)
}

func createOn(ground ground, path string, options WriterOptions) (*Writer, error) {
	options, format, err := options.complete(ground.lookup)
	if err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	w := &Writer{
		path: path, ground: ground, format: format, options: options, log: options.Logger,
		closable: make(chan struct{}, 1), sealedFile: make(chan struct{}, 1), stop: make(chan struct{}),
		byName: map[string]storage.TopicID{}, offers: map[storage.TopicID][]qos.Profile{}, custom: maps.Clone(options.CustomData),
	}
	if w.custom == nil {
		w.custom = map[string]string{}
	}
	if options.CompressionMode == CompressionMessage {
		if w.messages, err = newMessageCompressor(options); err != nil {
			return nil, fmt.Errorf("create bag: %w", err)
		}
	}
	if err := makeDirectory(path); err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	if w.directory, err = ground.open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("create bag: %w", err), os.Remove(path))
	}
	if w.current, err = w.openPart(0); err != nil {
		// The name is free again for the next try.
		return nil, errors.Join(fmt.Errorf("create bag: %w", err), w.directory.Close(), os.Remove(path))
	}
	w.files = append(w.files, w.current)
	w.release = reserve(path)
	return w, nil
}

// openPart makes a file with all topics. Only the writing goroutine calls it.
func (w *Writer) openPart(number int) (*part, error) {
	p := &part{name: w.options.FileNames.name(w.path, number, time.Now()) + w.format.Extension, first: math.MaxInt64}
	p.final = p.name
	metadata, err := w.innerMetadata(p)
	if err != nil {
		return nil, err
	}
	if err := w.checkDirectory(); err != nil {
		return nil, err
	}
	p.writer, err = w.format.Create(filepath.Join(w.path, p.name), storage.CreateOptions{
		Preset: w.options.Preset, Config: w.options.StorageConfig, Metadata: metadata,
		MetadataVersion: w.options.MetadataVersion, ROSDistro: w.options.ROSDistro, Files: w.ground.files,
	})
	if err != nil {
		return nil, fmt.Errorf("open next bag file: %w", err)
	}
	for _, topic := range w.topicsNow() {
		if _, err := w.addTo(p.writer, topic); err != nil {
			return nil, errors.Join(fmt.Errorf("open next bag file: %w", err), p.writer.Close())
		}
	}
	return p, nil
}

// checkDirectory makes sure that the name still leads to the directory of this bag.
func (w *Writer) checkDirectory() error {
	ours, err := w.directory.Stat(".")
	if err != nil {
		return fmt.Errorf("look at bag directory: %w", err)
	}
	named, err := os.Stat(w.path)
	if err != nil || !os.SameFile(ours, named) {
		return fmt.Errorf("%s: %w", w.path, ErrGone)
	}
	return nil
}

// checkFile makes sure that the file that is being written is still there: it could be written to for hours after it was
// deleted.
func (w *Writer) checkFile(name string) error {
	if _, err := w.directory.Stat(name); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(w.path, name), ErrGone)
	}
	return nil
}

func (w *Writer) topicsNow() []storage.Topic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.topics)
}

// AddTopic registers a topic for this and all files to come; see storage.Writer. Ids count up from 0.
func (w *Writer) AddTopic(topic storage.Topic) (storage.TopicID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	id, err := w.addTo(w.current.writer, topic)
	if err != nil {
		// A topic that does not fit costs that topic; whether the file failed shows at the next write.
		return 0, fmt.Errorf("add topic: %w", err)
	}
	if _, ok := w.byName[topic.Name]; !ok {
		w.byName[topic.Name] = id
		w.topics = append(w.topics, topic)
		w.counts = append(w.counts, 0)
		w.firstFile = append(w.firstFile, len(w.files))
		w.current.room = 0 // definitions can be large
	}
	return id, nil
}

// UpdateTopic replaces the offers of a topic. As long as no file says another thing of it they are in metadata.yaml and in
// the files; from then on both keep what they have, because readers that match topics by their offers (rosbags does) would
// else leave the topic's messages out. Then the new ones are in the copy of the metadata that a file gets when it is
// closed, where Reader takes them from.
func (w *Writer) UpdateTopic(id storage.TopicID, offered []qos.Profile) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id < 0 || int(id) >= len(w.topics) {
		return fmt.Errorf("update topic: unknown topic id %d", id)
	}
	updater, ok := w.current.writer.(storage.OfferUpdater)
	if ok && w.firstFile[id] == len(w.files) && updater.UpdateOffers(id, offered) {
		w.topics[id].OfferedQoS = slices.Clone(offered)
		return nil
	}
	w.offers[id] = slices.Clone(offered)
	return nil
}

// SetCustomData puts a value into the metadata, at the latest when the bag is sealed.
func (w *Writer) SetCustomData(key, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.custom[key] = value
}

// Write appends messages; see storage.Writer. They go into a new file as MaxSize and MaxDuration say. The first failure
// is final, and every later call returns it again.
func (w *Writer) Write(messages []storage.Message) error {
	var rejected *storage.RejectedError
	for at := 0; at < len(messages); {
		batch := messages[at:]
		if w.messages != nil {
			var err error
			if batch, err = w.messages.compress(batch); err != nil {
				return w.failWith(fmt.Errorf("write bag %s: %w", w.path, err))
			}
		}
		for len(batch) > 0 {
			n := w.fitting(batch)
			if n == 0 {
				split, err := w.splitWhenDue()
				if err != nil {
					return err
				}
				if split {
					continue
				}
				n = len(batch)
			}
			err := w.write(batch[:n])
			var some *storage.RejectedError
			if errors.As(err, &some) {
				rejected = join(rejected, some, at)
			} else if err != nil {
				return err
			}
			batch, at = batch[n:], at+n
		}
	}
	return rejected.OrNil()
}

// join puts the positions of a part of a slice that begins at offset behind those of the parts before it.
func join(all, some *storage.RejectedError, offset int) *storage.RejectedError {
	for _, i := range some.Indexes {
		all = all.Add(offset+i, some.Err)
	}
	return all
}

// write puts messages into the current file.
func (w *Writer) write(messages []storage.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if w.unflushed.IsZero() {
		w.unflushed = time.Now()
	}
	err := w.watched(func() error { return w.current.writer.Write(messages) })
	var rejected *storage.RejectedError
	if err == nil || errors.As(err, &rejected) {
		return err
	}
	return w.fail(err)
}

// usable is called with mu held.
func (w *Writer) usable() error {
	if w.failed != nil {
		return w.failed
	}
	if w.sealed {
		return fmt.Errorf("write bag %s: %w", w.path, ErrSealed)
	}
	return nil
}

// fail is called with mu held.
func (w *Writer) fail(err error) error {
	if w.failed == nil {
		w.failed = err
	}
	return w.failed
}

func (w *Writer) failWith(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail(err)
}

// Path is the bag directory, absolute.
func (w *Writer) Path() string { return w.path }

// CurrentFile is the path of the file that is being written.
func (w *Writer) CurrentFile() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return filepath.Join(w.path, w.current.final)
}

// Size is the size of the file that is being written, in bytes, with what is still in memory.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current.writer.Size()
}
