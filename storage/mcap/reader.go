package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"github.com/klauspost/compress/zstd"

	"rosbagd/storage"
)

// Reader reads one MCAP file, finished or not.
type Reader struct {
	source
	closer   *os.File
	contents *contents
	info     storage.Info
	topics   map[uint16]storage.TopicID

	mu    sync.Mutex // the fields below, which are made when first needed, and contents.chunks
	zstd  *zstd.Decoder
	lines map[storage.Order]*timeline
}

// Open reads the summary of a file, or goes through the file when it has none.
func Open(path string) (*Reader, error) {
	file, src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{source: src, closer: file}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// newReader reads from memory or anything else that has a size.
func newReader(path string, file io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{source: source{path: path, file: file, size: size}}
	return r, r.open()
}

func (r *Reader) open() error {
	if r.size == 0 {
		return fmt.Errorf("open %s: %w", r.path, storage.ErrEmpty)
	}
	head, err := r.slice(0, min(r.size, int64(len(mcaplib.Magic))))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(mcaplib.Magic, head) {
		return fmt.Errorf("open %s: %w", r.path, storage.ErrUnknownFormat)
	}
	found, err := readSummary(r.source)
	if err != nil {
		summaryErr := err
		if !errors.Is(err, errNoSummary) && !isCorruption(err) {
			return err
		}
		if found, err = scanFile(r); err != nil {
			return err
		}
		found.scanned = true
		if found.damage == "" && !errors.Is(summaryErr, errNoSummary) {
			found.damage = fmt.Sprintf("its end is damaged, %d messages found by reading all of it", found.total.messages)
		}
	}
	r.contents = found
	r.info, r.topics = found.info()
	return nil
}

// Info implements storage.Reader.
func (r *Reader) Info() storage.Info {
	info := r.info
	info.Topics = slices.Clone(info.Topics)
	return info
}

// Close implements storage.Reader. Iterators must not be used afterwards; messages that they gave may be.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
	if r.closer == nil {
		return nil
	}
	file := r.closer
	r.closer = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", r.path, err)
	}
	return nil
}

// Messages implements storage.Reader.
func (r *Reader) Messages(query storage.Query) (storage.Iterator, error) {
	line, err := r.timeline(query.Order)
	if err != nil {
		return nil, err
	}
	return newIterator(r, line, query), nil
}

// timeline gives the chunks in the order of their first message.
func (r *Reader) timeline(order storage.Order) (*timeline, error) {
	r.mu.Lock()
	line := r.lines[order]
	chunks := r.contents.chunks
	located := r.contents.located
	r.mu.Unlock()
	if line != nil {
		return line, nil
	}
	if !located {
		found, err := scanFile(r)
		if err != nil {
			return nil, err
		}
		chunks = found.chunks
	}
	if order == storage.ByPublishTime {
		var err error
		if line, err = r.publishTimeline(chunks); err != nil {
			return nil, err
		}
	} else {
		line = newTimeline(chunks, order)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents.chunks, r.contents.located = chunks, true
	if r.lines == nil {
		r.lines = map[storage.Order]*timeline{}
	}
	r.lines[order] = line
	return line, nil
}
