package bag

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Writer writes a bag. AddTopic, Write and Split belong to one goroutine; SetCustomData, UpdateTopic and Metadata may
// be called from others.
type Writer struct {
	directory string
	root      *os.Root // the directory, whatever its name becomes
	format    storage.Format
	options   WriterOptions
	log       *zap.Logger
	queued    chan struct{} // tells Run that closing is not empty
	stop      chan struct{} // closed by Seal
	running   sync.WaitGroup
	busySince atomic.Int64 // when the write that is under way began, in nanoseconds since the epoch; 0 for none

	// metadataMu makes the copies of the metadata get older never, on disk too. It is taken before mu.
	metadataMu sync.Mutex

	mu        sync.Mutex // the fields below; never held while a disk is waited for longer than a write
	current   *part
	closing   []*part
	files     []*part // all, in order, closing and current included
	topics    []storage.Topic
	counts    []uint64 // by topic, of the files that are no longer current
	byName    map[string]storage.TopicID
	custom    map[string]string
	unflushed time.Time // when the oldest message that may be in memory was written; zero for none
	unsynced  bool      // something was flushed since the last sync
	failed    error
	sealed    bool
}

// part is one file of the bag.
type part struct {
	name   string // relative to the directory
	writer storage.Writer
	info   storage.Info // final once the file is no longer current
	opened string       // the file that follows it
}

// Create makes the directory, its parents and the first file. A path that exists is ErrExists and stays as it is.
func Create(directory string, options WriterOptions) (*Writer, error) {
	options, format, err := options.complete()
	if err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	directory, err = filepath.Abs(directory)
	if err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	if err := makeDirectory(directory); err != nil {
		return nil, fmt.Errorf("create bag: %w", err)
	}
	w := &Writer{
		directory: directory, format: format, options: options, log: options.Logger,
		queued: make(chan struct{}, 1), stop: make(chan struct{}),
		byName: map[string]storage.TopicID{}, custom: maps.Clone(options.CustomData),
	}
	if w.custom == nil {
		w.custom = map[string]string{}
	}
	if w.root, err = os.OpenRoot(directory); err != nil {
		return nil, errors.Join(fmt.Errorf("create bag: %w", err), os.Remove(directory))
	}
	if w.current, err = w.openPart(0); err != nil {
		// The name is free again for the next try.
		return nil, errors.Join(fmt.Errorf("create bag: %w", err), w.root.Close(), os.Remove(directory))
	}
	w.files = append(w.files, w.current)
	return w, nil
}

// openPart makes a file with all topics. Only the writing goroutine calls it.
func (w *Writer) openPart(number int) (*part, error) {
	p := &part{name: w.options.FileNames.name(w.directory, number, time.Now()) + w.format.Extension}
	metadata, err := w.Metadata().EncodeInnerVersion(w.options.MetadataVersion)
	if err != nil {
		return nil, err
	}
	if err := w.checkDirectory(); err != nil {
		return nil, err
	}
	path := filepath.Join(w.directory, p.name)
	p.writer, err = w.format.Create(path, storage.CreateOptions{
		Preset: w.options.Preset, Config: w.options.StorageConfig, Metadata: metadata,
		MetadataVersion: w.options.MetadataVersion, ROSDistro: w.options.ROSDistro,
	})
	if err != nil {
		return nil, fmt.Errorf("open next bag file: %w", err)
	}
	for _, topic := range w.topicsNow() {
		if _, err := p.writer.AddTopic(topic); err != nil {
			return nil, errors.Join(fmt.Errorf("open next bag file: %w", err), p.writer.Close())
		}
	}
	return p, nil
}

// checkDirectory makes sure that the name still leads to the directory of this bag.
func (w *Writer) checkDirectory() error {
	ours, err := w.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at bag directory: %w", err)
	}
	named, err := os.Stat(w.directory)
	if err != nil || !os.SameFile(ours, named) {
		return fmt.Errorf("%s: %w", w.directory, ErrGone)
	}
	return nil
}

// checkFile makes sure that the file that is being written is still there: it could be written to for hours after it was
// deleted.
func (w *Writer) checkFile(name string) error {
	if _, err := w.root.Stat(name); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(w.directory, name), ErrGone)
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
	id, err := w.current.writer.AddTopic(topic)
	if err != nil {
		// A topic that does not fit costs that topic; whether the file failed shows at the next write.
		return 0, fmt.Errorf("add topic: %w", err)
	}
	if _, ok := w.byName[topic.Name]; !ok {
		w.byName[topic.Name] = id
		w.topics = append(w.topics, topic)
		w.counts = append(w.counts, 0)
	}
	return id, nil
}

// UpdateTopic replaces the offers of a topic in the metadata and in files to come.
func (w *Writer) UpdateTopic(id storage.TopicID, offered []qos.Profile) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id < 0 || int(id) >= len(w.topics) {
		return fmt.Errorf("update topic: unknown topic id %d", id)
	}
	w.topics[id].OfferedQoS = slices.Clone(offered)
	return nil
}

// SetCustomData puts a value into the metadata, at the latest when the bag is sealed.
func (w *Writer) SetCustomData(key, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.custom[key] = value
}

// Write appends messages; see storage.Writer. The first failure is final, and every later call returns it again.
func (w *Writer) Write(messages []storage.Message) error {
	if len(messages) == 0 {
		return nil
	}
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
		return fmt.Errorf("write bag %s: %w", w.directory, ErrSealed)
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

// Path is the bag directory, absolute.
func (w *Writer) Path() string { return w.directory }

// CurrentFile is the path of the file that is being written.
func (w *Writer) CurrentFile() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return filepath.Join(w.directory, w.current.name)
}

// Counts is how many messages of each topic the files have, by TopicID; after a failure, how many can be read.
func (w *Writer) Counts() []uint64 {
	var counts []uint64
	for _, topic := range w.Metadata().Topics {
		counts = append(counts, topic.MessageCount)
	}
	return counts
}

// Size is the size of the file that is being written, in bytes, with what is still in memory.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current.writer.Size()
}

// Split goes on in a new file. The old one is finished by Run, so that a slow disk does not hold up writing. The paths
// are returned; OnSplit tells when the old file is final.
func (w *Writer) Split() (closed, opened string, err error) {
	w.mu.Lock()
	number := len(w.files)
	err = w.usable()
	w.mu.Unlock()
	if err != nil {
		return "", "", err
	}
	next, err := w.openPart(number)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return "", "", w.fail(err)
	}
	old := w.current
	// The promise of FlushAge must not wait until Run gets to this file.
	if err := w.watched(old.writer.Flush); err != nil {
		return "", "", errors.Join(w.fail(err), next.writer.Close())
	}
	w.retire(old)
	old.opened = next.name
	w.current = next
	w.files = append(w.files, next)
	w.closing = append(w.closing, old)
	w.unflushed = time.Time{}
	w.unsynced = false // Seal of the old file syncs it
	select {
	case w.queued <- struct{}{}:
	default:
	}
	return filepath.Join(w.directory, old.name), filepath.Join(w.directory, next.name), nil
}

// retire takes over the counts of a file that gets no more messages. It is called with mu held.
func (w *Writer) retire(p *part) {
	p.info = p.writer.Info()
	for i, topic := range p.info.Topics {
		w.counts[i] += topic.MessageCount
	}
}

// Metadata describes what was written so far.
func (w *Writer) Metadata() Metadata {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.metadata(len(w.files))
}

// metadata describes the first n files; the counts of topics are always those of all. It is called with mu held.
func (w *Writer) metadata(n int) Metadata {
	m := Metadata{
		Version: w.options.MetadataVersion, StorageID: w.format.ID, CompressionFormat: w.options.CompressionFormat,
		CompressionMode: w.options.CompressionMode, ROSDistro: w.options.ROSDistro, CustomData: maps.Clone(w.custom),
	}
	for i, topic := range w.topics {
		topic.Definition = storage.Definition{}
		m.Topics = append(m.Topics, storage.TopicInfo{Topic: topic, MessageCount: w.counts[i]})
	}
	for _, p := range w.files[:n] {
		info := p.info
		if p == w.current && !w.sealed {
			info = p.writer.Info()
			for i, topic := range info.Topics {
				m.Topics[i].MessageCount += topic.MessageCount
			}
		}
		m.Paths = append(m.Paths, p.name)
		m.Files = append(m.Files, fileInfo(p.name, info))
	}
	m.summarize()
	return m
}
