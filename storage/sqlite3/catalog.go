package sqlite3

import (
	"errors"
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

var (
	errTableText   = errors.New("has a definition that can not be read")
	errNoRowID     = errors.New("is without row ids")
	errGenerated   = errors.New("has generated columns")
	errVirtual     = errors.New("is a virtual table")
	errManyColumns = errors.New("has too many columns")
)

// parseTable reads the columns out of a CREATE TABLE statement.
func parseTable(sql string) (relation, error) {
	words := tokens(sql)
	upper := func(i int) string {
		if i < len(words) {
			return strings.ToUpper(words[i].text)
		}
		return ""
	}
	if upper(0) != "CREATE" || upper(1) != "TABLE" {
		if upper(1) == "VIRTUAL" {
			return relation{}, errVirtual
		}
		return relation{}, errTableText
	}
	at := 2
	for at < len(words) && words[at].text != "(" {
		at++
	}
	table := relation{columns: map[string]int{}, rowid: -1}
	parts, rest, ok := split(words[min(at, len(words)):])
	if !ok {
		return relation{}, errTableText
	}
	for i := range rest {
		if strings.EqualFold(rest[i].text, "WITHOUT") {
			return relation{}, errNoRowID
		}
	}
	for _, part := range parts {
		if len(part) == 0 {
			return relation{}, errTableText
		}
		if !part[0].quoted && constraint(part[0].text) {
			if name, ok := primaryKey(part); ok {
				if at, ok := table.columns[name]; ok && table.rowid < 0 {
					table.rowid = -2 - at // if its type is INTEGER
				}
			}
			continue
		}
		name := strings.ToLower(part[0].text)
		position := len(table.columns)
		if _, ok := table.columns[name]; ok || position > 100 {
			return relation{}, errManyColumns
		}
		table.columns[name] = position
		if err := table.addColumn(part[1:], position); err != nil {
			return relation{}, err
		}
	}
	if table.rowid < -1 {
		at := -2 - table.rowid
		table.rowid = -1
		for _, part := range parts {
			if len(part) > 1 && table.columns[strings.ToLower(part[0].text)] == at && strings.EqualFold(part[1].text, "INTEGER") {
				table.rowid = at
				break
			}
		}
	}
	return table, nil
}

// addColumn looks for what makes a column stand for the row id, or not stand in the row at all.
func (t *relation) addColumn(definition []token, position int) error {
	for i, word := range definition {
		if word.quoted {
			continue
		}
		switch strings.ToUpper(word.text) {
		case "GENERATED", "AS":
			return errGenerated
		case "PRIMARY":
			descending := i+2 < len(definition) && strings.EqualFold(definition[i+2].text, "DESC")
			if i == 1 && strings.EqualFold(definition[0].text, "INTEGER") && !descending {
				t.rowid = position
			}
		}
	}
	return nil
}

func constraint(word string) bool {
	switch strings.ToUpper(word) {
	case "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT":
		return true
	}
	return false
}

// primaryKey gives the column of a constraint PRIMARY KEY (column).
func primaryKey(part []token) (string, bool) {
	for i, word := range part {
		if strings.EqualFold(word.text, "PRIMARY") && i+4 < len(part) && part[i+2].text == "(" && part[i+4].text == ")" {
			return strings.ToLower(part[i+3].text), true
		}
	}
	return "", false
}

// parseIndex tells whether an index is one on the time stamps alone, all of them, ascending.
func parseIndex(sql string) bool {
	words := tokens(sql)
	if len(words) > 1 && strings.EqualFold(words[1].text, "UNIQUE") {
		return false
	}
	at := 0
	for at < len(words) && words[at].text != "(" {
		at++
	}
	parts, rest, ok := split(words[at:])
	if !ok || len(rest) > 0 || len(parts) != 1 || len(parts[0]) == 0 {
		return false
	}
	part := parts[0]
	return strings.EqualFold(part[0].text, "timestamp") &&
		(len(part) == 1 || len(part) == 2 && strings.EqualFold(part[1].text, "ASC"))
}

type token struct {
	text   string
	quoted bool
}

// maxTokens is far more than the tables of a bag have.
const maxTokens = 4096

// tokens cuts SQL into names, quoted names, and single characters; comments are left out.
func tokens(sql string) []token {
	var result []token
	for len(sql) > 0 && len(result) < maxTokens {
		c := sql[0]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			sql = sql[1:]
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql[2:], "*/")
		case c == '"' || c == '\'' || c == '`' || c == '[':
			closing := string(c)
			if c == '[' {
				closing = "]"
			}
			text, rest, _ := strings.Cut(sql[1:], closing)
			result = append(result, token{text: text, quoted: true})
			sql = rest
		case nameByte(c):
			n := 1
			for n < len(sql) && nameByte(sql[n]) {
				n++
			}
			result = append(result, token{text: sql[:n]})
			sql = sql[n:]
		default:
			result = append(result, token{text: sql[:1]})
			sql = sql[1:]
		}
	}
	return result
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// split cuts what stands in the first parentheses at its commas and gives what follows them.
func split(words []token) (parts [][]token, rest []token, ok bool) {
	if len(words) == 0 || words[0].text != "(" || words[0].quoted {
		return nil, nil, false
	}
	depth, start := 0, 1
	for i, word := range words {
		if word.quoted {
			continue
		}
		switch word.text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return append(parts, words[start:i]), words[i+1:], true
			}
		case ",":
			if depth == 1 {
				parts = append(parts, words[start:i])
				start = i + 1
			}
		}
	}
	return nil, nil, false
}
