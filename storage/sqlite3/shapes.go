package sqlite3

import (
	"strings"

	"rosbagd/storage"
)

// findShapes completes a description from rows that look like those of the small tables, wherever they stand. It is for
// files in which the way to these tables is lost.
func (p *pages) findShapes(d *description, messages uint32) error {
	known := map[int64]bool{}
	for _, row := range d.topics {
		known[row.id] = true
	}
	newest := int64(0)
	for page := uint32(1); page <= p.count; page++ {
		data, err := p.partial(page)
		if err != nil {
			return err
		}
		n, err := p.parseNode(page, data)
		if err != nil || n.kind != tableLeaf || page == messages {
			continue
		}
		for i := range n.cells {
			c, err := p.cell(&n, i)
			if err != nil || !smallShape(&c) {
				continue
			}
			values, err := p.values(page, &c)
			if err != nil {
				if !storage.IsCorruption(err) {
					return err
				}
				continue
			}
			d.addShape(c.rowid, values, known, &newest)
		}
	}
	return nil
}

// smallShape tells from the head of a record whether it may be a row of a small table: the row id, then texts.
func smallShape(c *cell) bool {
	var space [8]column
	columns, err := parseRecord(space[:0], c.local, c.payload)
	if err != nil || len(columns) < 3 || len(columns) > 6 {
		return false
	}
	last := columns[len(columns)-1]
	return last.serial >= serialBytes && last.serial%2 == 1
}

// addShape tells the tables apart by the texts that they have.
func (d *description) addShape(rowid int64, values []value, known map[int64]bool, newest *int64) {
	text := func(i int) string {
		if i < len(values) {
			return values[i].text
		}
		return ""
	}
	switch {
	case len(values) == 3 && strings.HasPrefix(text(2), "version:") && rowid > *newest:
		d.metadata, *newest = []byte(text(2)), rowid
	case len(values) >= 4 && strings.HasPrefix(text(1), "/") && strings.Contains(text(2), "/"):
		if !known[rowid] {
			known[rowid] = true
			d.addTopic(rowid, text(1), text(2), text(3), text(4), text(5))
		}
	case len(values) == 5 && strings.Contains(text(1), "/") && strings.HasPrefix(text(2), "ros2"):
		if _, ok := d.definitions[text(1)]; !ok {
			d.definitions[text(1)] = storage.Definition{Encoding: text(2), Text: text(3)}
		}
	}
}
