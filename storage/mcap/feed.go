package mcap

import (
	"errors"
	"fmt"
	"io"
)

// feed is what was read of a stream and not yet done with. It is an io.ReaderAt for the bytes from offset on.
type feed struct {
	from   io.Reader
	buffer []byte // from offset on
	offset int64  // bytes from the start of the stream
	memory []byte // buffer is a part of it
	ended  bool
}

const (
	feedStep = 64 << 10
	// streamSize stands for the size of a stream, which is not known.
	streamSize = 1 << 62
)

// peek gives the next n bytes, or fewer at the end of the stream. They are valid until the next call. Memory grows with
// what really comes, whatever n is.
func (f *feed) peek(n int64) ([]byte, error) {
	for int64(len(f.buffer)) < n && !f.ended {
		want := min(n-int64(len(f.buffer)), int64(max(feedStep, len(f.buffer))))
		f.room(int(want))
		read, err := f.from.Read(f.buffer[len(f.buffer):cap(f.buffer)])
		f.buffer = f.buffer[:len(f.buffer)+read]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			f.ended = true
		} else if err != nil {
			return nil, err
		}
	}
	return f.buffer[:min(n, int64(len(f.buffer)))], nil
}

// room makes the buffer's capacity at least want larger than its length.
func (f *feed) room(want int) {
	if cap(f.buffer)-len(f.buffer) >= want {
		return
	}
	need := len(f.buffer) + want
	if cap(f.memory) < need {
		f.memory = make([]byte, 0, max(need, 2*len(f.buffer), 2*feedStep))
	}
	moved := f.memory[:len(f.buffer)]
	copy(moved, f.buffer)
	f.buffer = moved
}

// discard passes over n bytes, or to the end of the stream.
func (f *feed) discard(n int64) error {
	for n > 0 {
		if len(f.buffer) == 0 {
			if got, err := f.peek(min(n, feedStep)); err != nil || len(got) == 0 {
				return err
			}
		}
		done := min(n, int64(len(f.buffer)))
		f.buffer = f.buffer[done:]
		f.offset += done
		n -= done
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *feed) ReadAt(p []byte, offset int64) (int, error) {
	if offset < f.offset {
		return 0, fmt.Errorf("read byte %d of a stream that is at byte %d", offset, f.offset)
	}
	ahead := offset - f.offset
	got, err := f.peek(ahead + int64(len(p)))
	if err != nil {
		return 0, err
	}
	if int64(len(got)) <= ahead {
		return 0, io.EOF
	}
	n := copy(p, got[ahead:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
