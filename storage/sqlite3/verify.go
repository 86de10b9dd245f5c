package sqlite3

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	lib "modernc.org/sqlite/lib"

	"rosbagd/storage"
)

// verify goes through all of a file and reports what is wrong with it.
func verify(path string, to storage.Verification) error {
	db, err := openDatabase(path)
	if err != nil {
		return err
	}
	v := verifier{path: path, to: to}
	r, err := newReader(db, math.MaxInt64)
	switch {
	case storage.IsCorruption(err):
		v.damage(err)
		return db.close()
	case errors.Is(err, storage.ErrUnknownFormat), errors.Is(err, storage.ErrEmpty):
		v.find(storage.Damage, "%s", strings.TrimPrefix(err.Error(), "open "+path+": "))
		return db.close()
	case err != nil:
		return errors.Join(err, db.close())
	}
	v.reader = r
	v.structure()
	v.tables()
	err = v.messages()
	if err == nil {
		err = v.askSQLite()
	}
	return errors.Join(err, r.Close())
}

type verifier struct {
	path   string
	to     storage.Verification
	reader *Reader
}

func (v *verifier) find(severity storage.Severity, format string, arguments ...any) {
	v.to.Report(storage.Finding{Severity: severity, Path: v.path, Offset: -1, Text: fmt.Sprintf(format, arguments...)})
}

// damage reports an error with its place.
func (v *verifier) damage(err error) {
	finding := storage.Finding{Severity: storage.Damage, Path: v.path, Offset: -1, Text: err.Error()}
	var damaged *storage.CorruptionError
	if errors.As(err, &damaged) {
		finding.Offset, finding.Text = damaged.Offset, damaged.Err.Error()
	}
	v.to.Report(finding)
}

// structure reports on pages and tables.
func (v *verifier) structure() {
	r := v.reader
	if r.cause != nil {
		v.damage(r.cause)
	}
	if r.info.Damage != "" {
		v.find(storage.Damage, "%s", r.info.Damage)
	}
	if r.info.Journal {
		v.find(storage.Notice, "it was not closed: what was committed last stands in a log or journal beside it")
	}
	if r.tables.version > schemaVersion {
		v.find(storage.Notice, "schema version %d is newer than %d, the newest known one", r.tables.version, schemaVersion)
	}
	if r.cause == nil && r.index == 0 {
		v.find(storage.Fault, "it has no index on messages(timestamp), so each seek reads all of it")
	}
}

// tables reports on the rows beside the messages.
func (v *verifier) tables() {
	r := v.reader
	for _, fault := range r.tables.faults {
		v.find(storage.Fault, "%s", fault)
	}
	if r.info.MessageCount > 0 && r.info.StartNanos < 0 {
		v.find(storage.Fault, "it has time stamps before 1970, the first is %d ns", r.info.StartNanos)
	}
	names := map[string]bool{}
	for _, row := range r.tables.topics {
		topic := row.topic
		if names[topic.Name] {
			v.find(storage.Fault, "topic %s is listed more than once", storage.Printable(topic.Name))
		}
		names[topic.Name] = true
	}
	v.metadata()
	v.own()
	for _, topic := range r.info.Topics {
		v.to.Topic(topic.Topic, -1, -1)
	}
}

// messages gives all messages. Their place is that of their page.
func (v *verifier) messages() error {
	it := newIterator(v.reader, storage.Query{Order: storage.ByFile})
	looked := int64(0)
	for {
		m, place, err := it.nextAt()
		switch {
		case errors.Is(err, io.EOF):
			v.to.Progress(max(v.size()-looked, 0))
			return it.Close()
		case storage.IsCorruption(err):
			v.damage(err)
			continue
		case err != nil:
			return err
		}
		v.to.Message(m, place)
		// Pages of a log may stand behind the end of the file.
		if place = min(place, v.size()); place > looked {
			v.to.Progress(place - looked)
			looked = place
		}
	}
}

func (v *verifier) size() int64 { return v.reader.db.seen.size }

// metadata compares the newest copy of the bag's metadata, which is that of all files of a split bag, with this file.
func (v *verifier) metadata() {
	r := v.reader
	if len(r.info.Metadata) == 0 {
		return
	}
	var told struct {
		toldCounts `yaml:",inline"`
		Files      []struct {
			Messages uint64 `yaml:"message_count"`
		} `yaml:"files"`
	}
	if err := yaml.Unmarshal(r.info.Metadata, &told); err != nil {
		v.find(storage.Fault, "its copy of the metadata can not be read: %s", oneLine(err.Error()))
		return
	}
	files := make([]uint64, 0, len(told.Files)+1)
	for _, file := range told.Files {
		files = append(files, file.Messages)
	}
	if len(files) == 0 {
		files = append(files, told.Messages)
	}
	switch {
	case slices.Contains(files, r.info.MessageCount):
	case told.Messages == 0:
		v.find(storage.Notice, "it was not closed: its copy of the metadata is the one from its start")
	default:
		v.find(storage.Fault, "its copy of the metadata tells of %d messages, there are %d", files[len(files)-1],
			r.info.MessageCount)
	}
}

// own compares what the writer has noted of this file with its messages.
func (v *verifier) own() {
	r := v.reader
	if len(r.own) == 0 {
		return
	}
	noted := Reader{own: r.own, topics: r.topics, info: r.info}
	noted.info.Topics = slices.Clone(r.info.Topics)
	for i := range noted.info.Topics {
		noted.info.Topics[i].MessageCount = 0
	}
	same := noted.countFromOwn()
	for i := range noted.info.Topics {
		same = same && noted.info.Topics[i].MessageCount == r.info.Topics[i].MessageCount
	}
	if !same {
		v.find(storage.Fault, "what its writer noted of the number of its messages is not so")
	}
}

// maxAnswers bounds what SQLite is asked to list.
const maxAnswers = 20

// askSQLite lets SQLite check its own invariants (free pages, pointer maps, constraints) where its check can run nothing
// but the plain tables of a bag, and finds all of the file in one place.
func (v *verifier) askSQLite() (err error) {
	r := v.reader
	if r.cause != nil || r.info.Journal {
		return nil
	}
	plain := false
	err = r.db.read(func(s *snapshot, _ int) error {
		var err error
		plain, err = s.reader().plain()
		return err
	})
	if err != nil {
		return err
	}
	if !plain {
		v.find(storage.Notice, "it has more than the tables of a bag, so SQLite was not asked to check it")
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			v.find(storage.Damage, "SQLite can not check it: %v", cause)
			err = nil
		}
	}()
	absolute, err := filepath.Abs(v.path)
	if err != nil {
		return fmt.Errorf("verify %s: %w", v.path, err)
	}
	name := url.URL{Scheme: "file", Path: absolute, RawQuery: "mode=ro&immutable=1"}
	c, err := connect(name.String(), "", lib.SQLITE_OPEN_READONLY|lib.SQLITE_OPEN_URI)
	if err != nil {
		return fmt.Errorf("verify %s: %w", v.path, err)
	}
	answers, err := c.answers(fmt.Sprintf("PRAGMA integrity_check(%d)", maxAnswers))
	if err != nil {
		v.find(storage.Damage, "SQLite can not check it: %v", err)
	}
	for _, answer := range answers {
		if answer != "ok" {
			v.find(storage.Damage, "SQLite says: %s", oneLine(storage.Printable(answer)))
		}
	}
	return c.close()
}

// answers gives the first column of all rows.
func (c *connection) answers(sql string) ([]string, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.finalize()
	var answers []string
	for {
		row, err := s.step()
		if err != nil || !row {
			return answers, err
		}
		answers = append(answers, s.text(0))
	}
}

// plain tells whether a database has nothing but the tables and the index of a bag, without any expression.
func (p *pages) plain() (bool, error) {
	plain := true
	err := p.rows(1, func(_ int64, values []value) error {
		if len(values) < 5 {
			plain = false
			return nil
		}
		sql := strings.ToUpper(values[4].text)
		for _, word := range []string{"CHECK", "GENERATED", " AS ", " AS(", "COLLATE", "WHERE", "VIRTUAL"} {
			plain = plain && !strings.Contains(sql, word)
		}
		switch kind := values[0].text; kind {
		case "table":
			plain = plain && (known(strings.ToLower(values[1].text)) || values[1].text == "sqlite_sequence")
		case "index":
			plain = plain && (parseIndex(values[4].text) || sql == "")
		default:
			plain = false
		}
		return nil
	})
	return plain, err
}
