package sqlite3

import (
	"fmt"
	"math"
	"strings"

	"rosbagd/storage"
)

// errTables is wrapped for a database that is no bag, or that tries to be more than tables.
var errTables = fmt.Errorf("%w: not a bag of rosbag2", storage.ErrUnknownFormat)

// relation is a table of a database, as its CREATE TABLE tells.
type relation struct {
	root    uint32
	columns map[string]int
	rowid   int // position of the column that stands for the row id, -1 for none
}

// catalog is what the schema table of a database says of the tables that matter. Whatever else is in it (views,
// triggers, virtual tables) is never looked at.
type catalog struct {
	tables map[string]relation
	index  uint32   // root of an index on messages(timestamp), 0 for none
	roots  []uint32 // of all trees, also of those that are never read
}

// readCatalog reads the schema table (fileformat2, section 2.6).
func (p *pages) readCatalog() (catalog, error) {
	c := catalog{tables: map[string]relation{}}
	var refused error
	var indexes []relationRow
	err := p.rows(1, func(_ int64, values []value) error {
		if len(values) < 5 {
			return nil
		}
		row := relationRow{
			kind: values[0].text, name: strings.ToLower(values[1].text), table: strings.ToLower(values[2].text),
			root: uint32(values[3].number), sql: values[4].text,
		}
		if row.root != 0 { // views and triggers have none
			c.roots = append(c.roots, row.root)
		}
		switch {
		case row.kind == "index":
			indexes = append(indexes, row)
		case !known(row.name) || row.kind == "trigger":
		case row.kind != "table":
			refused = fmt.Errorf("%w: %s is a %s, not a table", errTables, row.name, storage.Printable(row.kind))
		default:
			table, err := parseTable(row.sql)
			if err != nil {
				refused = fmt.Errorf("%w: table %s %w", errTables, row.name, err)
				return nil
			}
			table.root = row.root
			c.tables[row.name] = table
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	for _, row := range indexes {
		if row.table == tableMessages && parseIndex(row.sql) {
			c.index = row.root
			break
		}
	}
	if refused != nil {
		return c, refused
	}
	return c, c.check()
}

type relationRow struct {
	kind, name, table string
	root              uint32
	sql               string
}

// The tables of a bag.
const (
	tableSchema      = "schema"
	tableMetadata    = "metadata"
	tableTopics      = "topics"
	tableDefinitions = "message_definitions"
	tableMessages    = "messages"
)

func known(name string) bool {
	switch name {
	case tableSchema, tableMetadata, tableTopics, tableDefinitions, tableMessages:
		return true
	}
	return false
}

// check makes sure that there is what every schema version has.
func (c *catalog) check() error {
	needed := []struct {
		table   string
		columns []string
	}{
		{tableMessages, []string{"topic_id", "timestamp", "data"}},
		{tableTopics, []string{"id", "name", "type", "serialization_format"}},
	}
	for _, n := range needed {
		table, ok := c.tables[n.table]
		if !ok {
			return fmt.Errorf("%w: no table %s", errTables, n.table)
		}
		for _, column := range n.columns {
			if _, ok := table.columns[column]; !ok {
				return fmt.Errorf("%w: table %s has no column %s", errTables, n.table, column)
			}
		}
	}
	return nil
}

// value is a column of a row that is no message.
type value struct {
	number int64
	text   string
}

// maxRow bounds rows that are read as texts; metadata of a thousand topics has less than a megabyte.
const maxRow = 64 << 20

// rows visits a table that is no messages table.
func (p *pages) rows(root uint32, visit func(rowid int64, values []value) error) error {
	cursor := p.table(root)
	if err := cursor.seek(math.MinInt64); err != nil {
		return err
	}
	for {
		row, page, ok, err := cursor.next()
		if err != nil || !ok {
			return err
		}
		values, err := p.values(page, &row)
		if err != nil {
			return err
		}
		if err := visit(row.rowid, values); err != nil {
			return err
		}
	}
}

func (p *pages) values(page uint32, row *cell) ([]value, error) {
	if row.payload > maxRow {
		return nil, p.corrupt(page, errRecord)
	}
	payload, err := p.payload(page, row)
	if err != nil {
		return nil, err
	}
	columns, err := parseRecord(nil, payload, row.payload)
	if err != nil {
		return nil, p.corrupt(page, err)
	}
	values := make([]value, len(columns))
	for i, column := range columns {
		if number, ok := column.integer(payload); ok {
			values[i].number = number
			continue
		}
		data := column.bytes(payload)
		if column.serial%2 == 1 {
			values[i].text = p.decodeText(data)
		} else {
			values[i].text = string(data)
		}
	}
	return values, nil
}
