package sqlite3

import (
	"errors"
	"fmt"

	"rosbagd/storage"
)

var (
	errMessage = errors.New("row is not a message")
	errTopicID = errors.New("message of a topic that the file does not list")
)

// row is a message before its payload is fetched.
type row struct {
	topic int64
	nanos int64
	data  column
}

// decode reads the columns of a message, and of its payload only where it lies.
func (l *layout) decode(p *pages, page uint32, c *cell) (row, error) {
	var space [8]column
	columns, err := parseRecord(space[:0], c.local, c.payload)
	if err != nil {
		return row{}, p.corrupt(page, err)
	}
	if len(columns) <= max(l.topic, l.time) {
		return row{}, p.corrupt(page, errMessage)
	}
	payload := c.local
	if last := max(columns[l.topic].start+columns[l.topic].length, columns[l.time].start+columns[l.time].length); last >
		int64(len(payload)) {
		if payload, err = p.payload(page, c); err != nil {
			return row{}, err
		}
	}
	var result row
	topic, ok := columns[l.topic].integer(payload)
	nanos, ok2 := columns[l.time].integer(payload)
	if !ok || !ok2 {
		return row{}, p.corrupt(page, errMessage)
	}
	result.topic, result.nanos = topic, nanos
	if l.data < len(columns) {
		result.data = columns[l.data]
	}
	return result, nil
}

// message fetches the payload.
func (l *layout) message(p *pages, page uint32, c *cell, r row, topic storage.TopicID) (storage.Message, error) {
	m := storage.Message{Topic: topic, LogTimeNanos: r.nanos, PublishTimeNanos: r.nanos}
	switch {
	case r.data.length == 0 && (r.data.serial == serialNull || r.data.serial >= serialBytes):
		return m, nil
	case r.data.serial < serialBytes:
		return m, p.corrupt(page, fmt.Errorf("%w: its data is a number", errMessage))
	}
	payload, err := p.payload(page, c)
	if err != nil {
		return m, err
	}
	m.Data = r.data.bytes(payload)
	return m, nil
}
