package sqlite3

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"

	lib "modernc.org/sqlite/lib"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const (
	// maxMessage is SQLite's limit for a row, less its other columns.
	maxMessage = 1_000_000_000 - 64
	// commitBytes is how much payload is collected before a transaction ends by itself.
	commitBytes = 1 << 20
	// rowOverhead is about what a row costs beside its payload, in the table and in the index.
	rowOverhead     = 32
	qosWordsVersion = 9
)

// Writer writes one SQLite file. Messages are collected in a transaction until Flush, or until it is large.
type Writer struct {
	path string
	// durable is what Sync works on; it has its own lock.
	durable durable

	mu         sync.Mutex // everything below
	c          *connection
	begin      *statement
	commit     *statement
	insert     *statement
	pages      *statement
	open       bool // a transaction is under way
	pending    int64
	committed  int64 // bytes of the file after the last transaction
	maxMessage int

	topics      []storage.TopicInfo // what is committed
	total       span
	uncommitted counts
	byName      map[string]storage.TopicID
	definitions map[string]bool // by type
	failed      error

	metadataVersion int // decides how offers are kept
}

// span sums messages up.
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
	if s.messages == 0 || end > s.end {
		s.end = end
	}
	s.messages += messages
}

// counts are the messages of the transaction that is under way.
type counts struct {
	span
	messages, payload []uint64 // by topic
	topics            int      // how many topics were added in it
}

// Create makes a new file with all tables. It fails when the path exists.
func Create(path string, options storage.CreateOptions) (*Writer, error) {
	pragmas, err := writePragmas(options.Preset, options.Config)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("create bag file: %w", err)
	}
	w := &Writer{
		path: path, durable: durable{path: path, file: file}, maxMessage: maxMessage,
		byName: map[string]storage.TopicID{}, definitions: map[string]bool{},
		metadataVersion: cmp.Or(options.MetadataVersion, qosWordsVersion),
	}
	if err := w.create(pragmas, options); err != nil {
		err = fmt.Errorf("create %s: %w", path, storage.WithoutPath(err))
		// Nobody knows of the file yet, so it does not stay behind.
		err = errors.Join(err, w.close(), os.Remove(path))
		for _, suffix := range companions() {
			_ = os.Remove(path + suffix) // mostly there is none
		}
		return nil, err
	}
	return w, nil
}

func (w *Writer) create(pragmas []string, options storage.CreateOptions) error {
	absolute, err := filepath.Abs(w.path)
	if err != nil {
		return err
	}
	if w.c, err = connect(absolute, "", lib.SQLITE_OPEN_READWRITE); err != nil {
		return err
	}
	// A reader of another program may hold the file for a moment.
	if _, err := w.c.exec("PRAGMA busy_timeout = 10000"); err != nil {
		return err
	}
	// Nothing is promised before the first Sync, and whoever goes on in this file after a split must not wait for a disk
	// that is busy with the last one: the syncs that SQLite is told to do begin behind the tables.
	first, last := []string{"synchronous = OFF"}, []string{}
	for _, pragma := range append(logPragmas(), pragmas...) {
		if pragmaName(pragma) == "synchronous" {
			last = append(last, pragma)
		} else {
			first = append(first, pragma)
		}
	}
	if len(last) == 0 {
		last = []string{"synchronous = FULL"} // SQLite's default
	}
	if err := w.setPragmas(first); err != nil {
		return err
	}
	if err := w.createTables(options); err != nil {
		return err
	}
	if err := w.setPragmas(last); err != nil {
		return err
	}
	for _, s := range []struct {
		to  **statement
		sql string
	}{
		{&w.begin, "BEGIN"},
		{&w.commit, "COMMIT"},
		{&w.pages, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"},
		{&w.insert, "INSERT INTO messages (timestamp, topic_id, data) VALUES (?, ?, ?)"},
	} {
		if *s.to, err = w.c.prepare(s.sql); err != nil {
			return err
		}
	}
	if err := w.measure(); err != nil {
		return err
	}
	return w.durable.start()
}

func (w *Writer) setPragmas(pragmas []string) error {
	for _, pragma := range pragmas {
		if _, err := w.c.exec("PRAGMA " + pragma); err != nil {
			return fmt.Errorf("set pragma %q: %w", pragma, err)
		}
	}
	return nil
}

func (w *Writer) createTables(options storage.CreateOptions) error {
	if _, err := w.c.exec("BEGIN"); err != nil {
		return err
	}
	for _, sql := range tables() {
		if _, err := w.c.exec(sql); err != nil {
			return err
		}
	}
	err := w.run("INSERT INTO schema (schema_version, ros_distro) VALUES (?, ?)", int64(schemaVersion), options.ROSDistro)
	if err != nil {
		return err
	}
	if err := w.insertMetadata(options.Metadata); err != nil {
		return err
	}
	_, err = w.c.exec("COMMIT")
	return err
}

// run executes a statement that is needed rarely.
func (w *Writer) run(sql string, arguments ...any) error {
	s, err := w.c.prepare(sql)
	if err != nil {
		return err
	}
	defer s.finalize()
	for i, argument := range arguments {
		switch value := argument.(type) {
		case int64:
			err = s.bindInt(int32(i+1), value)
		case string:
			err = s.bindText(int32(i+1), value)
		}
		if err != nil {
			return err
		}
	}
	return s.run()
}

// insertMetadata adds a copy of the bag's metadata with its version, which readers need to decode the offers of topics.
func (w *Writer) insertMetadata(metadata []byte) error {
	if len(metadata) == 0 {
		return nil
	}
	var head struct {
		Version int64 `yaml:"version"`
	}
	if err := yaml.Unmarshal(metadata, &head); err != nil {
		return fmt.Errorf("read version of metadata: %w", err)
	}
	return w.run("INSERT INTO metadata (metadata_version, metadata) VALUES (?, ?)", head.Version, string(metadata))
}

// AddTopic implements storage.Writer. Ids count up from 0; the row of a topic is its id + 1.
func (w *Writer) AddTopic(topic storage.Topic) (storage.TopicID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return 0, w.failed
	}
	if id, ok := w.byName[topic.Name]; ok {
		known := w.topics[id]
		if known.Type != topic.Type || known.SerializationFormat != topic.SerializationFormat {
			return 0, fmt.Errorf("add topic %s as %s: %w (%s)", topic.Name, topic.Type, storage.ErrTopicType, known.Type)
		}
		return id, nil
	}
	if err := w.insertTopic(topic); err != nil {
		return 0, w.fail(err)
	}
	id := storage.TopicID(len(w.topics))
	w.byName[topic.Name] = id
	w.topics = append(w.topics, storage.TopicInfo{Topic: topic})
	w.uncommitted.messages = append(w.uncommitted.messages, 0)
	w.uncommitted.payload = append(w.uncommitted.payload, 0)
	w.uncommitted.topics++
	return id, nil
}

func (w *Writer) insertTopic(topic storage.Topic) error {
	if err := w.transaction(); err != nil {
		return err
	}
	err := w.run("INSERT INTO topics (id, name, type, serialization_format, offered_qos_profiles, type_description_hash)"+
		" VALUES (?, ?, ?, ?, ?, ?)", int64(len(w.topics)+1), topic.Name, topic.Type, topic.SerializationFormat,
		qos.EncodeText(topic.OfferedQoS, w.metadataVersion), topic.TypeHash)
	// A definition that is not known has no row: readers refuse the whole file for an encoding that is none.
	if err != nil || w.definitions[topic.Type] || topic.Definition.Encoding == "" {
		return err
	}
	err = w.run("INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition, type_description_hash)"+
		" VALUES (?, ?, ?, ?)", topic.Type, topic.Definition.Encoding, topic.Definition.Text, topic.TypeHash)
	if err != nil {
		return err
	}
	w.definitions[topic.Type] = true
	w.pending += int64(len(topic.Definition.Text))
	return nil
}

// transaction begins one when none is under way.
func (w *Writer) transaction() error {
	if w.open {
		return nil
	}
	if err := w.begin.run(); err != nil {
		return err
	}
	w.open = true
	return nil
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
		err := w.check(m)
		if err == nil {
			if err = w.add(m); err != nil && !tooBig(err) {
				return w.fail(err)
			}
		}
		if err != nil {
			rejected = rejected.Add(i, err)
		}
	}
	if w.pending >= commitBytes {
		if err := w.end(); err != nil {
			return err
		}
	}
	return rejected.OrNil()
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

func (w *Writer) add(m *storage.Message) error {
	if err := w.transaction(); err != nil {
		return err
	}
	if err := w.insert.bindInt(1, m.LogTimeNanos); err != nil {
		return err
	}
	if err := w.insert.bindInt(2, int64(m.Topic)+1); err != nil {
		return err
	}
	if err := w.insert.bindBlob(3, m.Data); err != nil {
		return err
	}
	if err := w.insert.run(); err != nil {
		return err
	}
	w.pending += int64(len(m.Data)) + rowOverhead
	w.uncommitted.add(1, m.LogTimeNanos, m.LogTimeNanos)
	w.uncommitted.messages[m.Topic]++
	w.uncommitted.payload[m.Topic] += uint64(len(m.Data))
	return nil
}

// end commits the transaction that is under way. The caller holds mu.
func (w *Writer) end() error {
	if !w.open {
		return nil
	}
	if err := w.commit.run(); err != nil {
		return w.fail(err)
	}
	w.open = false
	for i := range w.topics {
		w.topics[i].MessageCount += w.uncommitted.messages[i]
		w.topics[i].PayloadBytes += w.uncommitted.payload[i]
	}
	w.total.add(w.uncommitted.span.messages, w.uncommitted.start, w.uncommitted.end)
	w.forget()
	if err := w.measure(); err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *Writer) forget() {
	clear(w.uncommitted.messages)
	clear(w.uncommitted.payload)
	w.uncommitted.span, w.uncommitted.topics = span{}, 0
	w.pending = 0
}

// measure asks for the size of the file once a transaction, not once a message.
func (w *Writer) measure() error {
	_, err := w.pages.step()
	w.committed = w.pages.integer(0)
	w.pages.reset()
	return err
}

// fail makes the error final. What was committed before stays readable, what was not is lost. The caller holds mu.
func (w *Writer) fail(err error) error {
	w.failed = fmt.Errorf("write %s: %w", w.path, storage.WithoutPath(err))
	if w.open {
		w.open = false
		// SQLite has rolled back by itself after most errors, and then refuses.
		_, _ = w.c.exec("ROLLBACK")
		w.topics = w.topics[:len(w.topics)-w.uncommitted.topics]
		w.uncommitted.messages = w.uncommitted.messages[:len(w.topics)]
		w.uncommitted.payload = w.uncommitted.payload[:len(w.topics)]
		w.forget()
	}
	return w.failed
}

// Flush implements storage.Writer: it commits.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	return w.end()
}

// Sync implements storage.Writer. It needs nothing that Write holds.
func (w *Writer) Sync() error { return w.durable.sync() }

// Size implements storage.Writer.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending > math.MaxInt64-w.committed {
		return math.MaxInt64
	}
	return w.committed + w.pending
}

// Info implements storage.Writer. After a failure it tells what the file still has.
func (w *Writer) Info() storage.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := storage.Info{StorageID: ID, Topics: slices.Clone(w.topics)}
	for i := range info.Topics {
		info.Topics[i].MessageCount += w.uncommitted.messages[i]
		info.Topics[i].PayloadBytes += w.uncommitted.payload[i]
	}
	total := w.total
	total.add(w.uncommitted.span.messages, w.uncommitted.start, w.uncommitted.end)
	info.MessageCount, info.StartNanos, info.EndNanos = total.messages, total.start, total.end
	return info
}
