package sqlite3

import (
	"errors"
	"strings"
)

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
