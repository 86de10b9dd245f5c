package mcap

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// indexLog remembers the index of every chunk written until the file is sealed. A chunk is cut every second and may
// hold a hundred channels, so a day of them is 20 MB even in the few bytes that they take here. Above a bound they go to
// a file of their own that has no name: memory is the same for a bag of any size.
//
// For each chunk, as varints: the gap behind the chunk before, its first time as a difference to that of the chunk
// before, last minus first time, compression, size as stored, size before compression, number of channels; then for
// each channel, in the order of its message index records, the difference to the channel before and its messages.
type indexLog struct {
	path   string // of the bag file
	most   int    // bytes of log
	chunks uint32
	log    []byte
	spill  *os.File // older parts of the log
	end    uint64   // where the newest chunk ends, with its message indexes
	start  int64    // first time of the newest chunk
}

// maxLog is how much of the log stays in memory.
const maxLog = 4 << 20

// channelCount is how many messages of a channel a chunk has.
type channelCount struct {
	channel  uint16
	messages int
}

// messageIndexLen is the length of a message index record with its header.
func messageIndexLen(entries int) uint64 { return indexHeaderLen + indexEntryLen*uint64(entries) }

// compressions are what the log counts through. Chunks that were copied keep theirs.
func compressions() []Compression {
	return []Compression{CompressionNone, CompressionLZ4, CompressionZstd}
}

// add takes a chunk that was written at offset, with the message index records that follow it.
func (l *indexLog) add(offset uint64, head chunkHead, channels []channelCount) error {
	l.chunks++
	l.log = binary.AppendUvarint(l.log, offset-l.end)
	l.log = binary.AppendVarint(l.log, head.start-l.start)
	l.log = binary.AppendVarint(l.log, head.end-head.start)
	l.log = append(l.log, byte(slices.Index(compressions(), head.compression)))
	l.log = binary.AppendUvarint(l.log, head.recordsLen)
	l.log = binary.AppendUvarint(l.log, head.uncompressed)
	l.log = binary.AppendUvarint(l.log, uint64(len(channels)))
	l.start = head.start
	l.end = offset + chunkRecordLen(head)
	before := int64(0)
	for _, c := range channels {
		l.log = binary.AppendVarint(l.log, int64(c.channel)-before)
		l.log = binary.AppendUvarint(l.log, uint64(c.messages))
		before = int64(c.channel)
		l.end += messageIndexLen(c.messages)
	}
	if len(l.log) < l.most {
		return nil
	}
	return l.unload()
}

// unload moves the log to the file without a name, beside the bag file because there is room for data.
func (l *indexLog) unload() error {
	if l.spill == nil {
		file, err := os.CreateTemp(filepath.Dir(l.path), "."+filepath.Base(l.path)+".index-*")
		if err != nil {
			return fmt.Errorf("make room for the index: %w", storage.WithoutPath(err))
		}
		l.spill = file
		if err := os.Remove(file.Name()); err != nil {
			return fmt.Errorf("make room for the index: %w", storage.WithoutPath(err))
		}
	}
	if _, err := l.spill.Write(l.log); err != nil {
		return fmt.Errorf("make room for the index: %w", storage.WithoutPath(err))
	}
	l.log = l.log[:0]
	return nil
}

func (l *indexLog) close() error {
	if l.spill == nil {
		return nil
	}
	err := l.spill.Close()
	l.spill = nil
	return err
}

// write writes the chunk index records.
func (l *indexLog) write(w io.Writer) error {
	from := io.Reader(bytes.NewReader(l.log))
	if l.spill != nil {
		if _, err := l.spill.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read the index back: %w", storage.WithoutPath(err))
		}
		from = io.MultiReader(l.spill, from)
	}
	r := logReader{from: bufio.NewReaderSize(from, sinkBuffer)}
	var record []byte
	var at uint64
	var start int64
	for range l.chunks {
		at += r.unsigned()
		start += r.signed()
		head := chunkHead{start: start, end: start + r.signed()}
		head.compression = compressions()[r.compression()]
		head.recordsLen, head.uncompressed = r.unsigned(), r.unsigned()
		record, at = appendChunkIndex(record[:0], at, head, &r)
		if r.err != nil {
			return fmt.Errorf("read the index back: %w", storage.WithoutPath(r.err))
		}
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}

// appendChunkIndex appends the record of a chunk at an offset (MCAP specification, Chunk Index) and says where its
// message indexes, which channels gives, end.
func appendChunkIndex(to []byte, at uint64, head chunkHead, channels *logReader) ([]byte, uint64) {
	length := chunkRecordLen(head)
	to = append(to, byte(mcaplib.OpChunkIndex))
	to = binary.LittleEndian.AppendUint64(to, 0) // see below
	to = binary.LittleEndian.AppendUint64(to, uint64(head.start))
	to = binary.LittleEndian.AppendUint64(to, uint64(head.end))
	to = binary.LittleEndian.AppendUint64(to, at)
	to = binary.LittleEndian.AppendUint64(to, length)
	to = binary.LittleEndian.AppendUint32(to, 0) // see below
	mapAt := len(to)
	indexes := at + length
	end := indexes
	channel := int64(0)
	for n := channels.unsigned(); n > 0 && channels.err == nil; n-- {
		channel += channels.signed()
		to = binary.LittleEndian.AppendUint16(to, uint16(channel))
		to = binary.LittleEndian.AppendUint64(to, end)
		end += messageIndexLen(int(channels.unsigned()))
	}
	binary.LittleEndian.PutUint32(to[mapAt-4:], uint32(len(to)-mapAt))
	to = binary.LittleEndian.AppendUint64(to, end-indexes)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(head.compression)))
	to = append(to, head.compression...)
	to = binary.LittleEndian.AppendUint64(to, head.recordsLen)
	to = binary.LittleEndian.AppendUint64(to, head.uncompressed)
	binary.LittleEndian.PutUint64(to[1:], uint64(len(to)-recordHeaderLen))
	return to, end
}

// logReader reads numbers of the log; after an error only zeros.
type logReader struct {
	from *bufio.Reader
	err  error
}

func (r *logReader) unsigned() uint64 {
	n, err := binary.ReadUvarint(r.from)
	return keep(r, n, err)
}

func (r *logReader) signed() int64 {
	n, err := binary.ReadVarint(r.from)
	return keep(r, n, err)
}

func (r *logReader) compression() byte {
	b, err := r.from.ReadByte()
	if int(b) >= len(compressions()) {
		err = errors.Join(err, errCompression)
		b = 0
	}
	return keep(r, b, err)
}

func keep[T int64 | uint64 | byte](r *logReader, n T, err error) T {
	if r.err == nil && err != nil {
		r.err = err
	}
	if r.err != nil {
		return 0
	}
	return n
}
