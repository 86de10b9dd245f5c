package mcap

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const (
	libraryName    = "rosbagd"
	metadataRecord = "rosbag2"
	metadataKey    = "serialized_metadata"
	distroKey      = "ROS_DISTRO"
	qosKey         = "offered_qos_profiles"
	typeHashKey    = "topic_type_hash"
	newestQoS      = 9 // metadata version
	// maxMessage is the largest payload: readers of MCAP refuse chunks of 2 GiB and more.
	maxMessage = math.MaxInt32 - 1<<16
)

var (
	errTooLarge    = errors.New("message is larger than 2 GiB")
	errNoTopic     = errors.New("message of an unknown topic")
	errTime        = errors.New("time stamp lies before 1970")
	errManyTopics  = errors.New("file has no room for more than 65535 topics")
	errManySchemas = errors.New("file has no room for more than 65535 message types")
)

// Writer writes one MCAP file. It builds the chunks itself; the library writes the records.
type Writer struct {
	path string

	mu          sync.Mutex // everything below; Sync alone works without it
	sink        *sink
	library     *mcaplib.Writer
	compressor  compressor
	compression Compression
	chunkSize   int
	chunkCRC    bool
	qosVersion  int // metadata version of the offers of channels
	maxMessage  int

	builder *chunkBuilder
	chunk   mcaplib.Chunk           // reused
	batch   []*mcaplib.MessageIndex // reused
	index   indexLog
	copied  copiedChunk

	topics    []storage.TopicInfo // counts without the chunk being built
	byName    map[string]storage.TopicID
	channels  []*mcaplib.Channel // by topic id
	byChannel map[uint16]storage.TopicID
	schemas   map[uint16]schemaKey
	schemaIDs map[schemaKey]uint16
	total     span
	failed    error
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
	if options.ChunkSize <= 0 {
		options.ChunkSize = DefaultChunkSize
	}
	compressor, err := newCompressor(options.Compression, options.Level, options.ChunkSize)
	if err != nil {
		return nil, err
	}
	sink, err := createSink(path, options.Files)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		path: path, sink: sink, compressor: compressor, compression: options.Compression,
		chunkSize: options.ChunkSize, chunkCRC: !options.NoChunkCRC, maxMessage: maxMessage,
		qosVersion: cmp.Or(options.MetadataVersion, newestQoS),
		builder:    newChunkBuilder(options.ChunkSize),
		byName:     map[string]storage.TopicID{}, byChannel: map[uint16]storage.TopicID{},
		schemas: map[uint16]schemaKey{}, schemaIDs: map[schemaKey]uint16{},
	}
	if err := w.writeHead(options.Metadata); err != nil {
		// Nobody knows of the file yet, so it does not stay behind.
		return nil, errors.Join(fmt.Errorf("create %s: %w", path, err), sink.file.Close(), sink.files.Remove(path))
	}
	return w, nil
}

func (w *Writer) writeHead(metadata []byte) error {
	var err error
	w.library, err = mcaplib.NewWriter(w.sink, &mcaplib.WriterOptions{OverrideLibrary: true})
	if err != nil {
		return err
	}
	if err := w.library.WriteHeader(&mcaplib.Header{Profile: "ros2", Library: libraryName}); err != nil {
		return err
	}
	if err := w.writeMetadata(metadata); err != nil {
		return err
	}
	return w.sink.flush()
}

func (w *Writer) writeMetadata(metadata []byte) error {
	if len(metadata) == 0 {
		return nil
	}
	return w.library.WriteMetadata(&mcaplib.Metadata{
		Name: metadataRecord, Metadata: map[string]string{metadataKey: string(metadata)},
	})
}

// AddTopic implements storage.Writer. Ids count up from 0; a topic gets the next free channel.
func (w *Writer) AddTopic(topic storage.Topic) (storage.TopicID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
	return w.addTopic(topic, w.channel(id, schema, topic), key)
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

// addTopic writes the channel of a topic, and its schema when it is new. A definition that is not known gets an empty
// encoding: "unknown", as others write, makes some readers refuse the whole file.
func (w *Writer) addTopic(topic storage.Topic, channel *mcaplib.Channel, key schemaKey) (storage.TopicID, error) {
	start := w.sink.offset()
	var err error
	if _, ok := w.schemas[channel.SchemaID]; !ok {
		err = w.library.WriteSchema(key.record(channel.SchemaID))
	}
	if err == nil {
		err = w.library.WriteChannel(channel)
	}
	if err == nil {
		err = w.sink.flush() // so that the file ends with a whole record whatever the next write does
	}
	if err != nil {
		return 0, w.fail(start, err)
	}
	id := storage.TopicID(len(w.topics))
	w.builder.grow(channel.ID)
	w.schemas[channel.SchemaID] = key
	w.schemaIDs[key] = channel.SchemaID
	w.channels = append(w.channels, channel)
	w.byChannel[channel.ID] = id
	w.byName[topic.Name] = id
	w.topics = append(w.topics, storage.TopicInfo{Topic: topic})
	return id, nil
}

func (w *Writer) channel(id, schema uint16, topic storage.Topic) *mcaplib.Channel {
	return &mcaplib.Channel{
		ID: id, SchemaID: schema, Topic: topic.Name, MessageEncoding: topic.SerializationFormat,
		Metadata: map[string]string{
			qosKey:      qos.EncodeText(topic.OfferedQoS, w.qosVersion),
			typeHashKey: topic.TypeHash,
		},
	}
}

// Write implements storage.Writer.
func (w *Writer) Write(messages []storage.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	var rejected *storage.RejectedError
	for i := range messages {
		m := &messages[i]
		if err := w.check(m); err != nil {
			if rejected == nil {
				rejected = &storage.RejectedError{Err: err}
			}
			rejected.Indexes = append(rejected.Indexes, i)
			continue
		}
		if !w.builder.empty() && len(w.builder.records)+messageOverhead+len(m.Data) > w.chunkSize {
			if err := w.cut(); err != nil {
				return err
			}
		}
		w.builder.add(m)
	}
	if len(w.builder.records) >= w.chunkSize {
		if err := w.cut(); err != nil {
			return err
		}
	}
	if rejected != nil {
		return rejected
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

// cut writes the chunk that is being built. The caller holds mu.
func (w *Writer) cut() error {
	b := w.builder
	if b.empty() {
		return nil
	}
	start := w.sink.offset()
	if err := w.writeChunk(); err != nil {
		b.reset()
		return w.fail(start, err)
	}
	w.index.add(w.library.ChunkIndexes[0], w.batch)
	w.library.ChunkIndexes = w.library.ChunkIndexes[:0] // the library keeps them for good
	for _, topic := range b.used {
		w.topics[topic].MessageCount += uint64(len(b.indexes[topic].Entries()))
		w.topics[topic].PayloadBytes += b.payload[topic]
	}
	w.total.add(b.messages, b.start, b.end)
	b.reset()
	return nil
}

func (w *Writer) writeChunk() error {
	b := w.builder
	stored, err := w.compressor.compress(b.records)
	if err != nil {
		return err
	}
	w.chunk = mcaplib.Chunk{
		MessageStartTime: uint64(b.start), MessageEndTime: uint64(b.end),
		UncompressedSize: uint64(len(b.records)), Compression: string(w.compression), Records: stored,
	}
	if w.chunkCRC {
		w.chunk.UncompressedCRC = crc32.ChecksumIEEE(b.records)
	}
	w.batch = w.batch[:0]
	for _, topic := range b.used {
		w.batch = append(w.batch, b.indexes[topic])
	}
	if err := w.library.WriteChunkWithIndexes(&w.chunk, w.batch); err != nil {
		return err
	}
	return w.sink.flush()
}

// fail makes the error final and cuts the file back to where it was whole.
func (w *Writer) fail(offset int64, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err // the path is said once
	}
	w.failed = fmt.Errorf("write %s: %w", w.path, err)
	if cutErr := w.sink.cutBack(offset); cutErr != nil {
		w.failed = errors.Join(w.failed, fmt.Errorf("cut torn end off: %w", cutErr))
	}
	return w.failed
}

// Flush implements storage.Writer: it cuts the current chunk and gives it to the operating system.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	if w.failed != nil {
		return w.failed
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

// Sync implements storage.Writer. It holds no lock, so that a disk that blocks for seconds blocks nobody else.
func (w *Writer) Sync() error {
	if err := w.sink.sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("sync %s: %w", w.path, err)
	}
	return nil
}

// Size implements storage.Writer.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sink.offset() + int64(len(w.builder.records))
}

// Info implements storage.Writer. After a failure it tells what the file still has.
func (w *Writer) Info() storage.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := storage.Info{StorageID: ID, Topics: slices.Clone(w.topics)}
	for _, topic := range w.builder.used {
		info.Topics[topic].MessageCount += uint64(len(w.builder.indexes[topic].Entries()))
		info.Topics[topic].PayloadBytes += w.builder.payload[topic]
	}
	total := w.total
	total.add(w.builder.messages, w.builder.start, w.builder.end)
	info.MessageCount, info.StartNanos, info.EndNanos = total.messages, total.start, total.end
	return info
}
