package sqlite3

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Reader reads one SQLite file, of any schema version, finished or not. It does not go through SQLite, so nothing that
// a file contains can do anything, nothing is created beside the file, and what SQLite gives up is still read.
type Reader struct {
	path     string
	db       *database
	messages layout
	index    uint32 // root of the index on time stamps, 0 for none
	topics   map[int64]storage.TopicID
	lastID   int64 // the largest row id when the file was opened
	info     storage.Info
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
	r, err := newReader(db)
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return r, nil
}

func newReader(db *database) (*Reader, error) {
	r := &Reader{path: db.path, db: db}
	head := make([]byte, len(magic))
	n, err := db.file.ReadAt(head, 0)
	if n == 0 {
		return nil, fmt.Errorf("open %s: %w", r.path, storage.ErrEmpty)
	}
	if n < len(head) && err != nil || string(head) != magic {
		return nil, fmt.Errorf("open %s: %w", r.path, storage.ErrUnknownFormat)
	}
	err = db.read(func(s *snapshot) error { return r.open(s.reader()) })
	if errors.Is(err, storage.ErrUnknownFormat) {
		return nil, fmt.Errorf("open %s: %w", r.path, err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.count(); err != nil {
		return nil, err
	}
	return r, nil
}

// open reads everything but the messages.
func (r *Reader) open(p *pages) error {
	c, err := p.readCatalog()
	if err != nil {
		return err
	}
	found, err := p.describe(&c)
	if err != nil {
		return err
	}
	r.messages, r.index = newLayout(c.tables[tableMessages]), c.index
	r.info, r.topics = found.info()
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
}

type topicRow struct {
	id    int64
	topic storage.Topic
}

// describe reads the small tables of any schema version: what a version has not is missing, what a newer one has more
// is not looked at.
func (p *pages) describe(c *catalog) (description, error) {
	d := description{definitions: map[string]storage.Definition{}}
	if table, ok := c.tables[tableSchema]; ok {
		err := p.rows(table.root, func(_ int64, values []value) error {
			d.distro = table.text(values, "ros_distro")
			return nil
		})
		if err != nil {
			return d, err
		}
	}
	if table, ok := c.tables[tableMetadata]; ok {
		err := p.rows(table.root, func(_ int64, values []value) error {
			d.metadata = []byte(table.text(values, "metadata"))
			return nil
		})
		if err != nil {
			return d, err
		}
	}
	if table, ok := c.tables[tableDefinitions]; ok {
		err := p.rows(table.root, func(_ int64, values []value) error {
			d.addDefinition(table.text(values, "topic_type"), table.text(values, "encoding"),
				table.text(values, "encoded_message_definition"))
			return nil
		})
		if err != nil {
			return d, err
		}
	}
	table := c.tables[tableTopics]
	err := p.rows(table.root, func(rowid int64, values []value) error {
		id := rowid
		if at := table.columns["id"]; at != table.rowid && at < len(values) {
			id = values[at].number
		}
		d.topics = append(d.topics, topicRow{id: id, topic: topicOf(
			table.text(values, "name"), table.text(values, "type"), table.text(values, "serialization_format"),
			table.text(values, "offered_qos_profiles"), table.text(values, "type_description_hash"),
		)})
		return nil
	})
	return d, err
}

func (d *description) addDefinition(typ, encoding, text string) {
	if _, ok := d.definitions[typ]; !ok && !strings.EqualFold(encoding, "unknown") {
		d.definitions[typ] = storage.Definition{Encoding: encoding, Text: text}
	}
}

func topicOf(name, typ, format, offered, hash string) storage.Topic {
	topic := storage.Topic{Name: name, Type: typ, SerializationFormat: format, TypeHash: hash}
	// Files of other programs may have anything here; a bag is not unreadable because of it.
	if profiles, err := qos.DecodeText(offered); err == nil {
		topic.OfferedQoS = profiles
	}
	return topic
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

// Info implements storage.Reader.
func (r *Reader) Info() storage.Info {
	info := r.info
	info.Topics = slices.Clone(info.Topics)
	return info
}

// Close implements storage.Reader. Iterators must not be used afterwards; messages that they gave may be.
func (r *Reader) Close() error { return r.db.close() }

// Messages implements storage.Reader.
func (r *Reader) Messages(query storage.Query) (storage.Iterator, error) {
	return newIterator(r, query), nil
}
