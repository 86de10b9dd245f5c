package bag

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"rosbagd/storage"
)

// Query selects messages of a bag; topic ids are those of Reader.Topics.
type Query struct {
	storage.Query
	// OnFile is called by Next when it goes on to another file. closed is empty before the first one.
	OnFile func(closed, opened string)
}

// Messages gives the messages file by file in the order of the metadata, as rosbag2 does: within a file they are
// ordered, files that overlap are not merged. Files outside the time range are not opened.
func (r *Reader) Messages(query Query) (storage.Iterator, error) {
	if mode := r.metadata.CompressionMode; mode != "" {
		return nil, fmt.Errorf("read bag %s: compression mode %s: %w", r.path, mode, storage.ErrUnsupported)
	}
	it := &iterator{reader: r, query: query}
	// The first file is opened now, so that a bag that can't be read fails here and not in the middle of a play.
	if err := it.advance(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return it, nil
}

type iterator struct {
	reader  *Reader
	query   Query
	next    int // position in reader.files
	file    *file
	inner   storage.Iterator // nil between two files and at the end
	entered bool             // OnFile was called for file
	closed  string
}

// Next implements storage.Iterator.
func (it *iterator) Next() (storage.Message, error) {
	for {
		if it.inner == nil {
			if err := it.advance(); err != nil {
				return storage.Message{}, err
			}
		}
		if !it.entered {
			it.entered = true
			if it.query.OnFile != nil {
				it.query.OnFile(it.closed, it.file.path)
			}
			it.closed = it.file.path
		}
		m, err := it.inner.Next()
		if err == nil {
			m.Topic = it.file.topics[m.Topic]
			return m, nil
		}
		if !errors.Is(err, io.EOF) {
			return storage.Message{}, err
		}
		if err := it.closeFile(); err != nil {
			return storage.Message{}, err
		}
	}
}

// advance goes on to the next file that can have messages, and returns io.EOF when there is none. A file that can not be
// opened is an error once; the next call goes on behind it.
func (it *iterator) advance() error {
	for it.next < len(it.reader.files) {
		f := it.reader.files[it.next]
		it.next++
		if it.outside(f) {
			continue
		}
		reader, err := it.reader.use(f)
		if err != nil {
			return err
		}
		query := it.query.Query
		if query.Topics != nil {
			query.Topics = []storage.TopicID{}
			for id, topic := range f.topics {
				if slices.Contains(it.query.Topics, topic) {
					query.Topics = append(query.Topics, storage.TopicID(id))
				}
			}
		}
		if it.inner, err = reader.Messages(query); err != nil {
			return err
		}
		it.file, it.entered = f, false
		return nil
	}
	return io.EOF
}

func (it *iterator) outside(f *file) bool {
	if !f.known {
		return false
	}
	if f.described.MessageCount == 0 {
		return f.reader == nil
	}
	return f.described.EndNanos() < it.query.FromNanos ||
		(it.query.HasUntil && f.described.StartNanos > it.query.UntilNanos)
}

// Close implements storage.Iterator.
func (it *iterator) Close() error {
	it.next = len(it.reader.files)
	return it.closeFile()
}

func (it *iterator) closeFile() error {
	if it.inner == nil {
		return nil
	}
	inner := it.inner
	it.inner = nil
	return inner.Close()
}
