package mcap

import (
	"encoding/binary"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// firstUnknownOp is the first opcode without a meaning; the specification reserves the rest, or leaves it to others.
const firstUnknownOp = mcaplib.OpDataEnd + 1

// describedLen bounds a schema, channel or metadata record of which every byte is looked at.
const describedLen = 64 << 20

// plausible tells whether a record of a known kind has the form of its kind: all lengths in it add up to its own.
// Damage that changes a length or an opcode, and bytes that are no record at all, do not come through.
func (s *scan) plausible(rec record) bool { return plausible(&s.window, rec) }

func plausible(w *window, rec record) bool {
	switch rec.op {
	case mcaplib.OpFooter:
		return rec.length == footerBodyLen
	case mcaplib.OpMessage:
		return rec.length >= messageHeaderLen
	case mcaplib.OpDataEnd:
		return rec.length == 4
	case mcaplib.OpSummaryOffset:
		return within(rec.length, int64(1+8+8))
	case mcaplib.OpMessageIndex:
		head, err := w.bytes(rec.body(), min(rec.length, 6))
		if err != nil || rec.length < 6 {
			return false
		}
		entries := binary.LittleEndian.Uint32(head[2:])
		return entries%indexEntryLen == 0 && within(rec.length, 6+int64(entries))
	case mcaplib.OpChunk:
		_, ok, err := chunkHeadAt(w, rec)
		return ok && err == nil
	case mcaplib.OpAttachment:
		_, err := readAttachmentHead(w.source, rec)
		return err == nil
	}
	if rec.length > describedLen {
		return false
	}
	body, err := w.body(rec)
	if err != nil {
		return false
	}
	c := cursor{rest: body}
	switch rec.op {
	case mcaplib.OpHeader:
		c.skipText(2)
	case mcaplib.OpSchema:
		c.take(2)
		c.skipText(3)
	case mcaplib.OpChannel:
		c.take(2 + 2)
		c.skipText(2)
		c.skipMap()
	case mcaplib.OpMetadata:
		c.skipText(1)
		c.skipMap()
	case mcaplib.OpChunkIndex:
		c.take(4 * 8)
		c.skipText(1) // the list of channels
		c.take(8)
		c.skipText(1)
		c.take(2 * 8)
	case mcaplib.OpAttachmentIndex:
		c.take(5 * 8)
		c.skipText(2)
	case mcaplib.OpMetadataIndex:
		c.take(2 * 8)
		c.skipText(1)
	case mcaplib.OpStatistics:
		c.take(8 + 2 + 4*4 + 2*8)
		c.skipText(1) // the list of counts
	}
	return c.err == nil && len(c.rest) <= extension
}

// within tells whether a record has its length, or a little more that was added to it later.
func within[T int64 | uint64](length int64, expected T) bool {
	return length >= 0 && uint64(expected) <= uint64(length) && uint64(length)-uint64(expected) <= extension
}

// skipText passes over strings, and over anything else that begins with its length.
func (c *cursor) skipText(n int) {
	for range n {
		c.take(uint64(c.uint32()))
	}
}

// skipMap passes over a map of strings.
func (c *cursor) skipMap() {
	inner := cursor{rest: c.take(uint64(c.uint32()))}
	for c.err == nil && len(inner.rest) > 0 {
		inner.skipText(2)
		c.err = inner.err
	}
}

// chunkHead reads the fields in front of the records of a chunk. ok says whether its lengths agree.
func (s *scan) chunkHead(rec record) (head chunkHead, ok bool, err error) {
	return chunkHeadAt(&s.window, rec)
}

func chunkHeadAt(w *window, rec record) (head chunkHead, ok bool, err error) {
	fields, err := w.bytes(rec.body(), min(rec.length, chunkFixedLen+64))
	if err != nil {
		return chunkHead{}, false, err
	}
	head, err = parseChunkHead(fields)
	if err != nil {
		return chunkHead{}, false, nil
	}
	return head, within(rec.length-head.headLen, head.recordsLen), nil
}

// likeChunk tells whether a record of another kind has the form of a chunk.
func likeChunk(w *window, rec record) (bool, error) {
	head, ok, err := chunkHeadAt(w, rec)
	return ok && slices.Contains(compressions(), head.compression) && head.start <= head.end && head.recordsLen > 0 && head.uncompressed > 0, err
}
