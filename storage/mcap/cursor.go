package mcap

import (
	"encoding/binary"
	"errors"
	"math"

	"rosbagd/storage"
)

var (
	errNoRecord    = errors.New("no record begins here")
	errChecksum    = errors.New("checksum does not match")
	errChunkSize   = errors.New("chunk has another size than it says")
	errCompression = errors.New("unknown chunk compression")
	errIndex       = errors.New("message index does not fit its chunk")
	errNoChannel   = errors.New("message of a channel that was not described before")
)

// cursor reads the fields of a record one after the other. Past the end everything is zero and err is set, so the
// caller looks at err once.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) take(n uint64) []byte {
	if c.err != nil || n > uint64(len(c.rest)) {
		c.err = storage.ErrEndsEarly
		return nil
	}
	p := c.rest[:n]
	c.rest = c.rest[n:]
	return p
}

func (c *cursor) uint16() uint16 {
	if p := c.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if p := c.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if p := c.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (c *cursor) text() string { return string(c.take(uint64(c.uint32()))) }

// nanos turns a time of the file, which is unsigned, into ours.
func nanos(t uint64) int64 { return int64(min(t, math.MaxInt64)) }
