package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// verifiedChunk is the chunk whose message indexes are being compared with it.
type verifiedChunk struct {
	open     bool
	readable bool
	at       int64
	messages map[uint16][]indexEntry // by channel, in the order of the chunk
	indexed  map[uint16]bool
}

// indexEntry is a message as message indexes name it: by its log time and its place in the records of the chunk.
type indexEntry struct{ log, at uint64 }

// takeChunk checks a chunk for itself.
func (c *verifier) takeChunk(rec record, body []byte) {
	c.chunksAt = append(c.chunksAt, rec.offset)
	if c.chunk.messages == nil {
		c.chunk.messages, c.chunk.indexed = map[uint16][]indexEntry{}, map[uint16]bool{}
	}
	for channel, entries := range c.chunk.messages {
		c.chunk.messages[channel] = entries[:0]
	}
	clear(c.chunk.indexed)
	c.chunk.open, c.chunk.readable, c.chunk.at = true, false, rec.offset

	head, err := parseChunkHead(body)
	if err == nil && head.recordsLen != uint64(rec.length-head.headLen) {
		err = errChunkSize
	}
	var records []byte
	if err == nil {
		records, err = c.unpacker.unpack(head, body[head.headLen:])
	}
	if err != nil {
		c.tell(storage.Damage, rec.offset, "chunk: %v", err)
		return
	}
	var messages span
	at, err := walk(records, func(op mcaplib.OpCode, body []byte, at int) error {
		switch op {
		case mcaplib.OpSchema, mcaplib.OpChannel:
			return c.takeDescription(op, body, rec.offset)
		case mcaplib.OpMessage:
			m := parseMessage(body)
			messages.add(1, m.log, m.log)
			c.chunk.messages[m.channel] = append(c.chunk.messages[m.channel], indexEntry{
				log: binary.LittleEndian.Uint64(body[6:]), at: uint64(at),
			})
			c.takeMessage(m, rec.offset)
		default:
			c.tell(storage.Fault, rec.offset, "chunk: record of type 0x%02x at byte %d of its records does not belong into a chunk", byte(op), at)
		}
		return nil
	})
	if err != nil {
		c.tell(storage.Damage, rec.offset, "chunk: at byte %d of its records: %v", at, reason(err))
	}
	c.chunk.readable = err == nil
	c.total.add(messages.messages, messages.start, messages.end)
	if err == nil && (head.start != messages.start || head.end != messages.end) {
		if messages.messages == 0 {
			c.tell(storage.Notice, rec.offset, "chunk: says from %d to %d ns, but has no message", head.start, head.end)
		} else {
			c.tell(storage.Fault, rec.offset, "chunk: says from %d to %d ns, its messages go from %d to %d ns",
				head.start, head.end, messages.start, messages.end)
		}
	}
}

// takeIndex compares a message index with the chunk before it.
func (c *verifier) takeIndex(rec record, body []byte) {
	fields := cursor{rest: body}
	channel := fields.uint16()
	entries := fields.take(uint64(fields.uint32()))
	switch {
	case fields.err != nil || len(entries)%indexEntryLen != 0:
		c.tell(storage.Fault, rec.offset, "message index: its list of messages is not whole")
		return
	case !c.chunk.open:
		c.tell(storage.Fault, rec.offset, "message index of channel %d does not stand behind a chunk", channel)
		return
	case c.chunk.indexed[channel]:
		c.tell(storage.Fault, rec.offset, "second message index of channel %d for the chunk at byte %d", channel, c.chunk.at)
		return
	}
	c.chunk.indexed[channel] = true
	if !c.chunk.readable {
		return
	}
	messages := c.chunk.messages[channel]
	seen := 0
	for i := 0; i < len(entries); i += indexEntryLen {
		entry := indexEntry{log: binary.LittleEndian.Uint64(entries[i:]), at: binary.LittleEndian.Uint64(entries[i+8:])}
		at := rec.body() + 6 + int64(i)
		found := seen
		if found >= len(messages) || messages[found].at != entry.at { // sorted by time, not by place
			var ok bool
			found, ok = slices.BinarySearchFunc(messages, entry.at, func(e indexEntry, at uint64) int { return cmp.Compare(e.at, at) })
			if !ok {
				c.tell(storage.Fault, at, "message index of channel %d: no message of it begins at byte %d of the chunk at byte %d",
					channel, entry.at, c.chunk.at)
				return
			}
		}
		if messages[found].log != entry.log {
			c.tell(storage.Fault, at, "message index of channel %d: says %d ns of the message at byte %d of the chunk at byte %d, which is of %d ns",
				channel, entry.log, entry.at, c.chunk.at, messages[found].log)
			return
		}
		seen++
	}
	if seen != len(messages) {
		c.tell(storage.Fault, rec.offset, "message index of channel %d: has %d of the %d messages in the chunk at byte %d",
			channel, seen, len(messages), c.chunk.at)
	}
}

// settleChunk is called when all message indexes of a chunk were seen.
func (c *verifier) settleChunk() {
	if !c.chunk.open {
		return
	}
	c.chunk.open = false
	if !c.chunk.readable {
		return
	}
	missing := slices.Sorted(maps.Keys(c.chunk.messages))
	missing = slices.DeleteFunc(missing, func(channel uint16) bool {
		return len(c.chunk.messages[channel]) == 0 || c.chunk.indexed[channel]
	})
	switch {
	case len(missing) == 0:
	case len(c.chunk.indexed) == 0:
		c.unindexed++
	default:
		c.tell(storage.Fault, c.chunk.at, "chunk: no message index of channel %d follows it", missing[0])
	}
}

// chunkIndexes visits the chunk indexes of the summary.
func (c *verifier) chunkIndexes(visit func(record, indexedChunk) error) error {
	w := window{source: c.source}
	for at := c.end.summaryStart; at < c.end.footerAt; {
		rec, err := w.record(at, c.end.footerAt)
		if err != nil {
			return err
		}
		if rec.op == mcaplib.OpChunkIndex {
			body, err := w.body(rec)
			if err != nil {
				return err
			}
			index, err := parseChunkIndex(body)
			if err != nil {
				return c.corrupt(rec.offset, err)
			}
			if err := visit(rec, index); err != nil {
				return err
			}
		}
		at = rec.end()
	}
	return nil
}

// compareIndex compares a chunk index with the chunk it names. files is a window of its own on the data section.
func (c *verifier) compareIndex(files *window, rec record, index indexedChunk) error {
	wrong := func(format string, arguments ...any) error {
		c.tell(storage.Fault, rec.offset, "chunk index: "+format, arguments...)
		return nil
	}
	if index.offset > uint64(c.size) || !has(c.chunksAt, int64(index.offset)) {
		return wrong("no chunk begins at byte %d", index.offset)
	}
	at := int64(index.offset)
	chunk, err := files.record(at, c.end.summaryStart)
	if err != nil {
		return err
	}
	body, err := files.bytes(chunk.body(), min(chunk.length, chunkFixedLen+64))
	if err != nil {
		return err
	}
	head, err := parseChunkHead(body)
	switch {
	case err != nil:
		return nil // told when the chunk was met
	case index.length != uint64(recordHeaderLen+chunk.length):
		return wrong("says %d bytes of the chunk at byte %d, which has %d", index.length, at, recordHeaderLen+chunk.length)
	case index.start != head.start || index.end != head.end:
		return wrong("says from %d to %d ns of the chunk at byte %d, which says from %d to %d ns", index.start, index.end, at, head.start, head.end)
	case string(index.compression) != string(head.compression) || index.compressed != head.recordsLen || index.uncompressed != head.uncompressed:
		return wrong("tells another compression or other sizes than the chunk at byte %d", at)
	}
	// The message indexes are those that follow the chunk, no more and no fewer; or none of them is told.
	listed := index.indexes
	none := len(listed) == 0
	next, until := chunk.end(), chunk.end()+int64(min(index.indexLen, uint64(c.size)))
	for next < until {
		entry, err := files.record(next, c.end.summaryStart)
		if err != nil || entry.op != mcaplib.OpMessageIndex || entry.end() > until {
			return wrong("%d bytes of message indexes do not follow the chunk at byte %d", index.indexLen, at)
		}
		next = entry.end()
		if none {
			continue
		}
		pair, err := files.bytes(entry.body(), min(entry.length, 2))
		if err != nil {
			return err
		}
		pair = binary.LittleEndian.AppendUint64(bytes.Clone(pair), uint64(entry.offset))
		if !hasPair(listed, pair) {
			return wrong("does not tell the message index at byte %d", entry.offset)
		}
		listed = dropPair(listed, pair)
	}
	if len(listed) >= indexPairLen {
		return wrong("the message index of channel %d is not at byte %d",
			binary.LittleEndian.Uint16(listed), binary.LittleEndian.Uint64(listed[2:]))
	}
	return nil
}

// The pairs stand in any order, mostly that of the file: the first one is the one that is looked for.
func hasPair(list, pair []byte) bool { return pairAt(list, pair) >= 0 }

func dropPair(list, pair []byte) []byte {
	at := pairAt(list, pair)
	if at == 0 {
		return list[indexPairLen:]
	}
	rest := slices.Clone(list)
	return slices.Delete(rest, at, at+indexPairLen)
}

func pairAt(list, pair []byte) int {
	for at := 0; at+indexPairLen <= len(list); at += indexPairLen {
		if bytes.Equal(list[at:at+indexPairLen], pair) {
			return at
		}
	}
	return -1
}

func has(sorted []int64, at int64) bool {
	_, found := slices.BinarySearch(sorted, at)
	return found
}
