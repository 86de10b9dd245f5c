package mcap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const (
	libraryName = "rosbagd"
	// libraryWithoutChunks tells a reader that has to find its way in a damaged file that messages stand alone.
	libraryWithoutChunks = "rosbagd, without chunks"
	metadataRecord       = "rosbag2"
	metadataKey          = "serialized_metadata"
	distroKey            = "ROS_DISTRO"
	qosKey               = "offered_qos_profiles"
	typeHashKey          = "topic_type_hash"
	newestQoS            = 9 // metadata version
	// borrowFrom is the size from which a payload is written from where it lies, where that can be. Measured to tmpfs:
	// at 10 KB it makes no difference, at 40 KB it saves 4 % of the processor's time, at 1 MB 10 %.
	borrowFrom = 16 << 10
)

var (
	errTooLarge    = errors.New("message is larger than 2 GiB")
	errNoTopic     = errors.New("message of an unknown topic")
	errTime        = errors.New("time stamp lies before 1970")
	errManyTopics  = errors.New("file has no room for more than 65535 topics")
	errManySchemas = errors.New("file has no room for more than 65535 message types")
)

// Writer writes one MCAP file. It builds the chunks itself; the library writes the other records.
type Writer struct {
	path string
	size atomic.Int64 // of the file with what is in memory, as of the last unlock

	mu         sync.Mutex // everything below; Sync alone works without it
	options    Options
	sink       *sink
	library    *mcaplib.Writer
	compressor compressor // nil for none
	limit      int        // bytes of a chunk
	maxMessage int

	builder *chunkBuilder
	index   indexLog
	copied  copiedChunk
	parts   [][]byte       // reused, as the next three
	counts  []channelCount // of the chunk being written
	indexes []byte         // its message index records
	head    []byte         // what stands before its records

	topics    []storage.TopicInfo // counts without the chunk being built
	byName    map[string]storage.TopicID
	channels  []*mcaplib.Channel // by topic id
	byChannel map[uint16]storage.TopicID
	schemas   map[uint16]schemaKey
	schemaIDs map[schemaKey]uint16
	announced int                 // how many of channels the file has
	described map[uint16]struct{} // ids of the schemas that it has
	metadata  []byte              // newest copy in the file
	total     span
	failed    error
	closed    bool

	syncMu   sync.Mutex // held while the disk is asked to sync; taken after mu
	unsynced error      // a sync that failed: what the disk lost is not known, so it is never tried again
}

type schemaKey struct{ name, encoding, text string }

func (k schemaKey) record(id uint16) *mcaplib.Schema {
	return &mcaplib.Schema{ID: id, Name: k.name, Encoding: k.encoding, Data: []byte(k.text)}
}

// span sums up messages.
type span struct {
	messages   uint64
	start, end int64
}

func (s *span) add(messages uint64, start, end int64) {
	if messages == 0 {
		return
	}
	if s.messages == 0 || start < s.start {
		s.start = start
	}
	s.end = max(s.end, end)
	s.messages += messages
}

// Create makes a new file and writes its head. It fails when the path exists.
func Create(path string, options Options) (*Writer, error) {
	limit := options.limit()
	compressor, err := newCompressor(options.Compression, options.CompressionLevel, limit)
	if err != nil {
		return nil, err
	}
	sink, err := createSink(path, options.Files)
	if err != nil {
		return nil, err
	}
	sink.withCRC = options.EnableDataCRC
	w := &Writer{
		path: path, options: options, sink: sink, compressor: compressor, limit: limit, maxMessage: maxMessage,
		builder: newChunkBuilder(limit), index: indexLog{path: path, most: maxLog},
		byName: map[string]storage.TopicID{}, byChannel: map[uint16]storage.TopicID{},
		schemas: map[uint16]schemaKey{}, schemaIDs: map[schemaKey]uint16{}, described: map[uint16]struct{}{},
	}
	if err := w.writeHead(); err != nil {
		// Nobody knows of the file yet, so it does not stay behind.
		return nil, errors.Join(fmt.Errorf("create %s: %w", path, storage.WithoutPath(err)), sink.file.Close(), sink.files.Remove(path))
	}
	w.size.Store(sink.offset())
	return w, nil
}

func (w *Writer) writeHead() error {
	var err error
	w.library, err = mcaplib.NewWriter(w.sink, &mcaplib.WriterOptions{OverrideLibrary: true})
	if err != nil {
		return err
	}
	library := libraryName
	if w.options.NoChunking {
		library = libraryWithoutChunks
	}
	if err := w.library.WriteHeader(&mcaplib.Header{Profile: "ros2", Library: library}); err != nil {
		return err
	}
	if len(w.options.Metadata) > 0 || w.options.ROSDistro != "" {
		if err := w.writeMetadata(w.options.Metadata); err != nil {
			return err
		}
	}
	return w.sink.flush()
}

// writeMetadata writes the bag's metadata and the distro, as rosbag2 does since Iron and did in Humble.
func (w *Writer) writeMetadata(metadata []byte) error {
	values := map[string]string{}
	if len(metadata) > 0 {
		values[metadataKey] = string(metadata)
	}
	if w.options.ROSDistro != "" {
		values[distroKey] = w.options.ROSDistro
	}
	if err := w.writeRecord(metadataRecord, values); err != nil {
		return err
	}
	if len(metadata) > 0 {
		w.metadata = bytes.Clone(metadata)
	}
	return nil
}

// unlock is the end of all that changes the file.
func (w *Writer) unlock() {
	w.size.Store(w.sink.offset() + int64(w.builder.size))
	w.mu.Unlock()
}

// AddTopic implements storage.Writer. Ids count up from 0; a topic gets the next free channel.
func (w *Writer) AddTopic(topic storage.Topic) (storage.TopicID, error) {
	w.mu.Lock()
	defer w.unlock()
	if id, known, err := w.known(topic); known || err != nil {
		return id, err
	}
	key := schemaKey{topic.Type, topic.Definition.Encoding, topic.Definition.Text}
	schema, ok := w.schemaIDs[key]
	if !ok {
		if schema, ok = freeID(w.schemas, len(w.schemas)); !ok {
			return 0, fmt.Errorf("add topic %s: %w", topic.Name, errManySchemas)
		}
	}
	id, ok := freeID(w.byChannel, len(w.topics))
	if !ok {
		return 0, fmt.Errorf("add topic %s: %w", topic.Name, errManyTopics)
	}
	return w.addTopic(topic, w.channel(id, schema, topic), key), nil
}

// known finds a topic that was added before.
func (w *Writer) known(topic storage.Topic) (storage.TopicID, bool, error) {
	if w.failed != nil {
		return 0, false, w.failed
	}
	id, ok := w.byName[topic.Name]
	if !ok {
		return 0, false, nil
	}
	known := w.topics[id]
	if known.Type != topic.Type || known.SerializationFormat != topic.SerializationFormat {
		return 0, false, fmt.Errorf("add topic %s as %s: %w (%s)", topic.Name, topic.Type, storage.ErrTopicType, known.Type)
	}
	return id, true, nil
}

// freeID gives the least id that is not taken, beginning with the one that is free as long as ids count up.
func freeID[T any](taken map[uint16]T, n int) (uint16, bool) {
	if n >= math.MaxUint16 {
		return 0, false
	}
	id := uint16(n + 1)
	for {
		if _, ok := taken[id]; !ok && id != 0 { // 0 is no id of a schema
			return id, true
		}
		id++
	}
}

// addTopic takes a topic in. A definition that is not known gets an empty encoding: "unknown", as others write, makes some
// readers refuse the whole file.
func (w *Writer) addTopic(topic storage.Topic, channel *mcaplib.Channel, key schemaKey) storage.TopicID {
	id := storage.TopicID(len(w.topics))
	w.builder.grow(channel.ID)
	w.schemas[channel.SchemaID] = key
	w.schemaIDs[key] = channel.SchemaID
	w.channels = append(w.channels, channel)
	w.byChannel[channel.ID] = id
	w.byName[topic.Name] = id
	w.topics = append(w.topics, storage.TopicInfo{Topic: topic})
	return id
}

func (w *Writer) channel(id, schema uint16, topic storage.Topic) *mcaplib.Channel {
	return &mcaplib.Channel{
		ID: id, SchemaID: schema, Topic: topic.Name, MessageEncoding: topic.SerializationFormat,
		Metadata: map[string]string{
			qosKey:      qos.EncodeText(topic.OfferedQoS, cmp.Or(w.options.MetadataVersion, newestQoS)),
			typeHashKey: topic.TypeHash,
		},
	}
}

// Write implements storage.Writer. A large payload is not even copied when its chunk is sure to be written before this
// call returns.
func (w *Writer) Write(messages []storage.Message) error {
	w.mu.Lock()
	defer w.unlock()
	if w.failed != nil {
		return w.failed
	}
	rest := 0 // bytes of the messages that are not yet added
	for i := range messages {
		rest += messageOverhead + len(messages[i].Data)
	}
	var rejected *storage.RejectedError
	for i := range messages {
		m := &messages[i]
		size := messageOverhead + len(m.Data)
		if err := w.check(m); err != nil {
			rejected = rejected.Add(i, err)
			rest -= size
			continue
		}
		if err := w.add(m, size, rest); err != nil {
			return err
		}
		rest -= size
	}
	if w.builder.size >= w.limit || w.builder.borrows() {
		if err := w.cut(); err != nil {
			return err
		}
	}
	return rejected.OrNil()
}

// add adds a message to the chunk, of which rest bytes with those behind it wait, and cuts it as need be.
func (w *Writer) add(m *storage.Message, size, rest int) error {
	if !w.builder.empty() && w.builder.size+size > w.limit {
		if err := w.cut(); err != nil {
			return err
		}
	}
	large := size >= w.limit/2 // another one of its kind would not fit, so there is nothing to wait for
	borrow := len(m.Data) >= borrowFrom && w.compressor == nil && (large || w.builder.size+rest >= w.limit)
	w.builder.add(m, borrow)
	if large {
		return w.cut()
	}
	return nil
}

func (w *Writer) check(m *storage.Message) error {
	switch {
	case m.Topic < 0 || int(m.Topic) >= len(w.topics):
		return errNoTopic
	case len(m.Data) > w.maxMessage:
		return fmt.Errorf("topic %s: %w", w.topics[m.Topic].Name, errTooLarge)
	case m.LogTimeNanos < 0 || m.PublishTimeNanos < 0:
		return fmt.Errorf("topic %s: %w", w.topics[m.Topic].Name, errTime)
	}
	return nil
}

// fail makes the error final and cuts the file back to where it was whole.
func (w *Writer) fail(offset int64, err error) error {
	w.failed = fmt.Errorf("write %s: %w", w.path, storage.WithoutPath(err))
	if cutErr := w.sink.cutBack(offset); cutErr != nil {
		w.failed = fmt.Errorf("%w; %w", w.failed, cutErr)
	}
	return w.failed
}

// Flush implements storage.Writer: it cuts the current chunk and gives it to the operating system.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.announce(); err != nil {
		return err
	}
	if err := w.cut(); err != nil {
		return err
	}
	start := w.sink.written
	if err := w.sink.flush(); err != nil {
		return w.fail(start, err)
	}
	return nil
}

// Sync implements storage.Writer. It does not hold mu, so that a disk that blocks for seconds blocks nobody else. After a
// failure the operating system may take the lost data for written, so a second try would tell a lie: it is final.
func (w *Writer) Sync() error {
	err := w.sync()
	if err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	return err
}

func (w *Writer) sync() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.unsynced != nil {
		return w.unsynced
	}
	if err := w.sink.sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		w.unsynced = fmt.Errorf("sync %s: %w", w.path, storage.WithoutPath(err))
	}
	return w.unsynced
}

// Size implements storage.Writer. It waits for nothing.
func (w *Writer) Size() int64 { return w.size.Load() }

// Info implements storage.Writer. After a failure it tells what the file still has.
func (w *Writer) Info() storage.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := storage.Info{
		StorageID: ID, Topics: slices.Clone(w.topics), Metadata: bytes.Clone(w.metadata), ROSDistro: w.options.ROSDistro,
	}
	for _, id := range w.builder.used {
		info.Topics[id].MessageCount += uint64(w.builder.topics[id].messages)
		info.Topics[id].PayloadBytes += w.builder.topics[id].payload
	}
	total := w.total
	total.add(w.builder.messages, w.builder.start, w.builder.end)
	info.MessageCount, info.StartNanos, info.EndNanos = total.messages, total.start, total.end
	return info
}
