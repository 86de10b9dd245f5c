package sqlite3

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Reader reads one SQLite file, of any schema version, finished or not. It does not go through SQLite, so nothing that
// a file contains can do anything, nothing is created beside the file, and what SQLite gives up is still read.
type Reader struct {
	path     string
	db       *database
	headless bool  // it does not begin as a database
	checked  int64 // bytes up to which a file is gone through when it is opened
	messages layout
	index    uint32   // root of the index on time stamps, 0 for none
	roots    []uint32 // of all trees
	topics   map[int64]storage.TopicID
	lastID   int64        // the largest row id when the file was opened
	info     storage.Info // what the file tells at once
	own      []byte       // what the writer noted of this file alone
	counted  *counted     // what was counted when the file was opened, if it was
	tables   description
	cause    error // why the file was gone through page by page, nil if it was not

	counting sync.Mutex    // held while messages are counted that were not when the file was opened
	counts   *storage.Info // nil before that
	partial  bool          // info has no counts of topics

	mu       sync.Mutex // the fields below, which change when reading meets damage
	salvaged *salvage   // nil while the file can be read as it should be
	damage   string
	left     *counted // what is salvaged
	// suspected tells that all of the file was gone through because of missing row ids, so that it is not done again.
	suspected bool
}

// Open opens a file with all that was committed to it.
func Open(path string, options storage.OpenOptions) (*Reader, error) {
	// The pragmas have nothing to act on here, but a wrong file is refused as rosbag2 does.
	if _, err := configPragmas(options.Config, sectionRead); err != nil {
		return nil, err
	}
	db, err := openDatabase(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(db, checkedLen)
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return r, nil
}

func newReader(db *database, checked int64) (*Reader, error) {
	r := &Reader{path: db.path, db: db, checked: checked}
	head := make([]byte, len(magic))
	n, err := db.file.ReadAt(head, 0)
	if n == 0 {
		return nil, fmt.Errorf("open %s: %w", r.path, storage.ErrEmpty)
	}
	if n < len(head) && err != nil {
		return nil, fmt.Errorf("open %s: %w", r.path, storage.ErrUnknownFormat)
	}
	if r.headless = !hasMagic(head); r.headless {
		if _, err := db.file.ReadAt(make([]byte, 1), minPageSize-1); err != nil {
			return nil, fmt.Errorf("open %s: %w", r.path, storage.ErrUnknownFormat)
		}
		err = &storage.CorruptionError{Path: r.path, Err: errHeader}
	} else {
		err = r.openWhole()
	}
	if storage.IsCorruption(err) {
		r.cause = err
		err = r.recover(err)
	}
	if errors.Is(err, storage.ErrUnknownFormat) {
		return nil, fmt.Errorf("open %s: %w", r.path, err)
	}
	if err != nil {
		return nil, err
	}
	r.info.Journal = db.seen.log != fileID{} || db.seen.journal != fileID{}
	return r, nil
}

// openWhole reads everything that is told of a file whose header is right.
func (r *Reader) openWhole() error {
	err := r.db.read(func(s *snapshot, try int) error {
		p := s.reader()
		if err := r.open(p); err != nil || try >= triesAtFull {
			return err
		}
		return r.check(p)
	})
	if err != nil {
		return err
	}
	return r.count()
}

// triesAtFull is how often reading is disturbed by a program that writes before less is read at once.
const triesAtFull = 3

// open reads everything but the messages.
func (r *Reader) open(p *pages) error {
	r.counted = nil
	c, err := p.readCatalog()
	if err != nil {
		return err
	}
	found, err := p.describe(&c)
	if err != nil {
		return err
	}
	r.messages, r.index, r.roots = newLayout(c.tables[tableMessages]), c.index, c.roots
	r.tables = found
	r.info, r.topics = found.info()
	r.info.Metadata, r.own = cutOwn(r.info.Metadata)
	row, _, ok, err := p.table(r.messages.root).last()
	if err != nil {
		return err
	}
	r.lastID = -1 << 63
	if ok {
		r.lastID = row.rowid
	}
	return nil
}

// layout says where the columns of a message are.
type layout struct {
	root              uint32
	topic, time, data int
}

func newLayout(table relation) layout {
	return layout{
		root: table.root, topic: table.columns["topic_id"], time: table.columns["timestamp"], data: table.columns["data"],
	}
}

// description is what the tables beside the messages say.
type description struct {
	topics      []topicRow
	definitions map[string]storage.Definition
	metadata    []byte
	distro      string
	version     int64    // of the schema
	faults      []string // texts that can not be read
}

type topicRow struct {
	id    int64
	topic storage.Topic
}

// describe reads the small tables of any schema version: what a version has not is missing, what a newer one has more
// is not looked at. An error is the first of several; the tables that it does not concern are read.
func (p *pages) describe(c *catalog) (description, error) {
	d := description{definitions: map[string]storage.Definition{}, version: 1}
	if _, ok := c.tables[tableTopics].columns["offered_qos_profiles"]; ok {
		d.version = 2
	}
	var first error
	for _, name := range []string{tableSchema, tableMetadata, tableDefinitions, tableTopics} {
		table, ok := c.tables[name]
		if !ok {
			continue
		}
		err := p.rows(table.root, func(rowid int64, values []value) error {
			d.add(name, &table, rowid, values)
			return nil
		})
		if err != nil && !storage.IsCorruption(err) {
			return d, err
		}
		if first == nil {
			first = err
		}
	}
	return d, first
}

// add takes over a row of one of the small tables.
func (d *description) add(name string, table *relation, rowid int64, values []value) {
	switch name {
	case tableSchema:
		d.version = table.number(rowid, values, "schema_version")
		d.distro = table.text(values, "ros_distro")
	case tableMetadata:
		d.metadata = []byte(table.text(values, "metadata"))
	case tableDefinitions:
		d.addDefinition(table.text(values, "topic_type"), table.text(values, "encoding"),
			table.text(values, "encoded_message_definition"))
	case tableTopics:
		d.addTopic(table.number(rowid, values, "id"), table.text(values, "name"), table.text(values, "type"),
			table.text(values, "serialization_format"), table.text(values, "offered_qos_profiles"),
			table.text(values, "type_description_hash"))
	}
}

func (d *description) addDefinition(typ, encoding, text string) {
	if _, ok := d.definitions[typ]; !ok && !strings.EqualFold(encoding, "unknown") {
		d.definitions[typ] = storage.Definition{Encoding: encoding, Text: text}
	}
}

func (d *description) addTopic(id int64, name, typ, format, offered, hash string) {
	topic := storage.Topic{Name: name, Type: typ, SerializationFormat: format, TypeHash: hash}
	// Files of other programs may have anything here; a bag is not unreadable because of it.
	profiles, err := qos.DecodeText(offered)
	if err != nil {
		d.faults = append(d.faults, fmt.Sprintf("topic %s: %s", storage.Printable(name), oneLine(err.Error())))
	} else {
		topic.OfferedQoS = profiles
	}
	d.topics = append(d.topics, topicRow{id: id, topic: topic})
}

// number gives a column that may stand for the row id.
func (t *relation) number(rowid int64, values []value, name string) int64 {
	at, ok := t.columns[name]
	if !ok || at == t.rowid || at >= len(values) {
		return rowid
	}
	return values[at].number
}

// text gives a column by its name; empty for one that the table or the row does not have.
func (t *relation) text(values []value, name string) string {
	at, ok := t.columns[name]
	if !ok || at >= len(values) {
		return ""
	}
	return values[at].text
}

// info describes the file without its messages and says which topic each id of the file is. Rows that name the same
// topic are one.
func (d *description) info() (storage.Info, map[int64]storage.TopicID) {
	type name struct{ name, typ, format string }
	info := storage.Info{StorageID: ID, Metadata: d.metadata, ROSDistro: d.distro}
	topics := make(map[int64]storage.TopicID, len(d.topics))
	known := map[name]storage.TopicID{}
	for _, row := range d.topics {
		key := name{row.topic.Name, row.topic.Type, row.topic.SerializationFormat}
		at, ok := known[key]
		if !ok {
			at = storage.TopicID(len(info.Topics))
			known[key] = at
			topic := row.topic
			topic.Definition = d.definitions[topic.Type]
			info.Topics = append(info.Topics, storage.TopicInfo{Topic: topic})
		}
		topics[row.id] = at
	}
	return info, topics
}

// Info implements storage.Reader. It counts the messages when the file does not tell how many each topic has.
func (r *Reader) Info() storage.Info {
	r.counting.Lock()
	defer r.counting.Unlock()
	if !r.partial {
		return r.Outline()
	}
	if r.counts == nil {
		counts := r.countLate()
		r.counts = &counts
	}
	return r.described(*r.counts)
}

// Outline implements storage.Outliner: rows are numbered without gaps, unless some were deleted.
func (r *Reader) Outline() storage.Info { return r.described(r.info) }

func (r *Reader) described(info storage.Info) storage.Info {
	info.Topics = slices.Clone(info.Topics)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.damage != "" {
		info.Damage = r.damage
	}
	return info
}

// Close implements storage.Reader. Iterators must not be used afterwards; messages that they gave may be.
func (r *Reader) Close() error { return r.db.close() }

// Messages implements storage.Reader.
func (r *Reader) Messages(query storage.Query) (storage.Iterator, error) {
	return newIterator(r, query), nil
}
