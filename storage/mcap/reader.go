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
	scan     bool // the summary is not believed
	contents *contents
	info     storage.Info
	topics   map[uint16]storage.TopicID

	mu    sync.Mutex // the fields below, which are made when first needed, and info.Damage
	zstd  *zstd.Decoder
	lines map[storage.Order]*timeline
	// channels are those of each topic.
	channels [][]uint16

	locating sync.Mutex // contents.chunks and contents.located
}

// Open reads the summary of a file, or goes through the file when it has none.
func Open(path string) (*Reader, error) { return openPath(path, false) }

func openPath(path string, scan bool) (*Reader, error) {
	file, src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{source: src, closer: file, scan: scan}
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
	found, err := (*contents)(nil), errNoSummary
	if !r.scan {
		found, err = readSummary(r.source)
	}
	if err != nil {
		if found, err = r.withoutSummary(err); err != nil {
			return err
		}
		found.scanned = true
	}
	if !bytes.HasPrefix(mcaplib.Magic, head) {
		if found.chunks.count == 0 && len(found.channels) == 0 {
			return fmt.Errorf("open %s: %w", r.path, storage.ErrUnknownFormat)
		}
		if found.damage == "" {
			found.damage, found.harmless = "its first bytes are damaged, no message is missing", true
		}
	}
	r.contents = found
	r.info, r.topics = found.info()
	return nil
}

// withoutSummary goes through a file whose summary can not be read because of err.
func (r *Reader) withoutSummary(err error) (*contents, error) {
	if errors.Is(err, errNoSummary) {
		return scanFile(r, r.size)
	}
	if !storage.IsCorruption(err) {
		return nil, err
	}
	found, err := scanFile(r, max(0, r.size-doubtfulBytes))
	if err == nil && found.damage == "" {
		found.damage = fmt.Sprintf("its end is damaged, %d messages found by reading all of it", found.total.messages)
		found.harmless = true // the end of the data section was seen
	}
	return found, err
}

// matches tells whether a file of which these are the first bytes is of this format. Most of the magic has to be right.
func matches(head []byte) bool {
	return len(head) >= len(mcaplib.Magic) && head[0] != 0 && resembles(head[:len(mcaplib.Magic)])
}

// resembles tells whether a file can be one of this format whose first bytes are damaged: most of them are right, or all
// are zero because the first page was lost.
func resembles(head []byte) bool {
	equal, zeros := 0, 0
	for i, b := range head {
		if b == mcaplib.Magic[i] {
			equal++
		}
		if b == 0 {
			zeros++
		}
	}
	return 2*equal > len(head) || zeros == len(mcaplib.Magic)
}

// Info implements storage.Reader.
func (r *Reader) Info() storage.Info {
	r.mu.Lock()
	info := r.info
	r.mu.Unlock()
	info.Topics = slices.Clone(info.Topics)
	return info
}

// topic is a topic of Info.
func (r *Reader) topic(id storage.TopicID) (storage.Topic, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 0 || int(id) >= len(r.info.Topics) {
		return storage.Topic{}, false
	}
	return r.info.Topics[id].Topic, true
}

// channelsOf are the channels of a topic of Info.
func (r *Reader) channelsOf(id storage.TopicID) []uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.channels == nil {
		r.channels = make([][]uint16, len(r.info.Topics))
		for channel, topic := range r.topics {
			r.channels[topic] = append(r.channels[topic], channel)
		}
	}
	return r.channels[id]
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

// timeline gives the chunks in one of the orders.
func (r *Reader) timeline(order storage.Order) (*timeline, error) {
	list, err := r.chunkList()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	line := r.lines[order]
	if line == nil {
		line = newTimeline(list, order, r.size)
		if r.lines == nil {
			r.lines = map[storage.Order]*timeline{}
		}
		r.lines[order] = line
	}
	return line, nil
}

// chunkList is where all messages of the file lie, in its order. It is found when it is needed for the first time.
func (r *Reader) chunkList() (*chunkList, error) {
	r.locating.Lock()
	defer r.locating.Unlock()
	c := r.contents
	if c.located {
		return c.chunks, nil
	}
	if c.indexed {
		quiet, err := r.quiet(c)
		if err != nil {
			return nil, err
		}
		if quiet {
			c.located, c.gaps = true, nil
			return c.chunks, nil
		}
	}
	found, err := scanFile(r, r.size)
	if err != nil {
		return nil, err
	}
	c.chunks, c.located = found.chunks, true
	if found.damage != "" {
		r.mu.Lock()
		r.info.Damage = found.damage
		r.mu.Unlock()
	}
	return c.chunks, nil
}

// quiet looks at what stands between the chunks. A message there, or a chunk that the summary does not know, means that
// the summary does not tell where all messages are.
func (r *Reader) quiet(c *contents) (bool, error) {
	w := window{source: r.source, step: 4 << 10}
	for _, gap := range c.gaps {
		for at := gap[0]; at < gap[1]; {
			rec, err := w.record(at, gap[1])
			if err != nil {
				if !storage.IsCorruption(err) {
					return false, err
				}
				// What is damaged here is no chunk, if the summary is right.
				if !c.checked {
					return false, nil
				}
				break
			}
			if rec.op == mcaplib.OpMessage || rec.op == mcaplib.OpChunk {
				return false, nil
			}
			at = rec.end()
		}
	}
	return true, nil
}
