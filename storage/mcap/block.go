package mcap

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// Blocks implements storage.BlockReader: the chunks, and what stands outside of them. A chunk is Whole when message
// indexes tell what is in it.
func (r *Reader) Blocks() ([]storage.Block, error) {
	list, err := r.chunkList()
	if err != nil {
		return nil, err
	}
	blocks := make([]storage.Block, 0, list.count)
	for ref, err := range list.all(r.source) {
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, storage.Block{
			StartNanos: ref.start, EndNanos: ref.end, Size: ref.length + ref.indexLen,
			Whole: !ref.bare && ref.indexLen > 0,
		})
	}
	return blocks, nil
}

// BlockMessages implements storage.BlockReader.
func (r *Reader) BlockMessages(block int) (storage.Iterator, error) {
	list, err := r.chunkList()
	if err != nil {
		return nil, err
	}
	ref, err := list.chunk(r.source, block)
	if err != nil {
		return nil, err
	}
	alone := &chunkList{}
	alone.add(ref)
	alone.close()
	return newIterator(r, newTimeline(alone, storage.ByFile, r.size), storage.Query{Order: storage.ByFile}), nil
}

// Config implements storage.Configured: a file with the compression that the first chunk has.
func (r *Reader) Config() (storage.Config, error) {
	list, err := r.chunkList()
	if err != nil {
		return storage.Config{}, err
	}
	for ref, err := range list.all(r.source) {
		if err != nil {
			return storage.Config{}, err
		}
		if ref.bare {
			continue
		}
		raw, err := r.slice(ref.offset+recordHeaderLen, min(ref.length-recordHeaderLen, chunkFixedLen+16))
		if err != nil {
			return storage.Config{}, err
		}
		head, err := parseChunkHead(raw)
		for _, word := range compressionWords() {
			if err == nil && word.value == head.compression {
				return storage.Config{Path: r.path, Data: []byte("compression: " + word.text + "\n")}, nil
			}
		}
	}
	return storage.Config{}, nil
}

// AddTopicOf implements storage.BlockWriter.
func (w *Writer) AddTopicOf(from storage.Reader, topic storage.TopicID) (storage.TopicID, error) {
	r, ok := from.(*Reader)
	if !ok {
		infos := from.Info().Topics
		if topic < 0 || int(topic) >= len(infos) {
			return 0, errNoTopic
		}
		return w.AddTopic(infos[topic].Topic)
	}
	added, ok := r.topic(topic)
	if !ok {
		return 0, errNoTopic
	}
	w.mu.Lock()
	if id, known, err := w.known(added); known || err != nil {
		w.mu.Unlock()
		return id, err
	}
	if channel, key, ok := w.adoptable(r, topic); ok {
		defer w.mu.Unlock()
		return w.addTopic(added, channel, key), nil
	}
	w.mu.Unlock()
	return w.AddTopic(added)
}

// adoptable finds the channel of a topic and its schema, if their ids are free here. A topic with several channels can
// not keep them all, a channel without a schema, or with one that is "unknown", is better described anew.
func (w *Writer) adoptable(r *Reader, topic storage.TopicID) (*mcaplib.Channel, schemaKey, bool) {
	channels := r.channelsOf(topic)
	if len(channels) != 1 {
		return nil, schemaKey{}, false
	}
	found := r.contents.channels[channels[0]]
	if _, taken := w.byChannel[found.ID]; taken {
		return nil, schemaKey{}, false
	}
	schema, ok := r.contents.schemas[found.SchemaID]
	if !ok || schema.ID == 0 || strings.EqualFold(schema.Encoding, unknownEncoding) {
		return nil, schemaKey{}, false
	}
	key := keyOf(schema)
	if known, taken := w.schemas[schema.ID]; taken && known != key {
		return nil, schemaKey{}, false
	}
	return found, key, true
}

func keyOf(s *mcaplib.Schema) schemaKey { return schemaKey{s.Name, s.Encoding, string(s.Data)} }

// Accepts implements storage.BlockWriter. Channels may be described within a chunk too (rosbag2 does it), so all of the
// file must be the same here, not only those that have messages.
func (w *Writer) Accepts(from storage.Reader) bool {
	r, ok := from.(*Reader)
	if !ok || w.options.NoChunking || w.options.NoMessageIndex {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, theirs := range r.contents.channels {
		topic, ok := w.byChannel[id]
		if !ok {
			return false
		}
		ours := w.channels[topic]
		schema, ok := r.contents.schemas[theirs.SchemaID]
		if !ok || ours.SchemaID != theirs.SchemaID || w.schemas[ours.SchemaID] != keyOf(schema) ||
			ours.Topic != theirs.Topic || ours.MessageEncoding != theirs.MessageEncoding ||
			!maps.Equal(ours.Metadata, theirs.Metadata) {
			return false
		}
	}
	return true
}

// CopyBlock implements storage.BlockWriter. Message indexes count from the start of the unpacked chunk, so they are the
// same wherever it stands.
func (w *Writer) CopyBlock(from storage.Reader, block int, check storage.BlockCheck) (uint64, error) {
	r, ok := from.(*Reader)
	if !ok {
		return 0, storage.ErrOtherIDs
	}
	list, err := r.chunkList()
	if err != nil {
		return 0, err
	}
	if block < 0 || block >= list.count {
		return 0, storage.ErrOtherIDs
	}
	ref, err := list.chunk(r.source, block)
	if err != nil {
		return 0, err
	}
	if ref.bare || ref.indexLen == 0 {
		return 0, storage.ErrOtherIDs
	}
	w.mu.Lock()
	defer w.unlock()
	if w.failed != nil {
		return 0, w.failed
	}
	if err := w.announce(); err != nil {
		return 0, err
	}
	copied := &w.copied
	if err := copied.read(r, ref, check); err != nil {
		return 0, err
	}
	for _, c := range copied.counts {
		if _, ok := w.byChannel[c.channel]; !ok {
			return 0, storage.ErrOtherIDs
		}
	}
	if err := w.cut(); err != nil {
		return 0, err
	}
	start := w.sink.offset()
	if err := w.putChunk(copied.head, copied.parts, copied.counts); err != nil {
		return 0, w.fail(start, err)
	}
	for _, c := range copied.counts {
		w.topics[w.byChannel[c.channel]].MessageCount += uint64(c.messages)
	}
	w.total.add(copied.messages, copied.head.start, copied.head.end)
	return copied.messages, nil
}

// copiedChunk is a chunk on its way to another file. Its memory is used again for the next one.
type copiedChunk struct {
	raw      []byte
	head     chunkHead
	parts    [][]byte       // for putChunk: the records and the message index records
	counts   []channelCount // what those records say
	messages uint64
}

// read takes a chunk with its message indexes out of a file and checks that they fit together.
func (c *copiedChunk) read(r *Reader, ref chunkRef, check storage.BlockCheck) error {
	length := ref.length + ref.indexLen
	if ref.offset < 0 || length < recordHeaderLen || ref.offset > r.size || length > r.size-ref.offset {
		return r.corrupt(ref.offset, errNoRecord)
	}
	c.raw = slices.Grow(c.raw[:0], int(length))[:length]
	if err := r.read(c.raw, ref.offset); err != nil {
		return err
	}
	raw := c.raw[:ref.length]
	if raw[0] != byte(mcaplib.OpChunk) || binary.LittleEndian.Uint64(raw[1:]) != uint64(len(raw)-recordHeaderLen) {
		return r.corrupt(ref.offset, errNoRecord)
	}
	head, err := parseChunkHead(raw[recordHeaderLen:])
	if err != nil {
		return r.corrupt(ref.offset, err)
	}
	stored := raw[recordHeaderLen+head.headLen:]
	if head.recordsLen != uint64(len(stored)) {
		return r.corrupt(ref.offset, errChunkSize)
	}
	if !slices.Contains(compressions(), head.compression) {
		return r.corrupt(ref.offset, fmt.Errorf("%w %q", errCompression, head.compression))
	}
	if head.compression == CompressionNone && check == storage.CheckIndex {
		if head.uncompressed != head.recordsLen {
			return r.corrupt(ref.offset, errChunkSize)
		}
		if head.crc != 0 && crc32.ChecksumIEEE(stored) != head.crc {
			return r.corrupt(ref.offset, errChecksum)
		}
	}
	if check == storage.CheckContent {
		if err := c.unpack(r, ref); err != nil {
			return err
		}
	}
	c.head = head
	c.parts = append(c.parts[:0], nil, stored)
	return c.readIndexes(r, ref, head)
}

// unpack goes through the records of the chunk.
func (c *copiedChunk) unpack(r *Reader, ref chunkRef) error {
	records, err := r.load(ref)
	if err != nil {
		return err
	}
	at, err := walk(records, func(mcaplib.OpCode, []byte, int) error { return nil })
	if err != nil {
		return r.corrupt(ref.offset, fmt.Errorf("at byte %d of chunk: %w", at, err))
	}
	return nil
}

// readIndexes takes the message index records behind the chunk. An index that does not fit its chunk is worth nothing in
// the new file, so such a chunk is not copied.
func (c *copiedChunk) readIndexes(r *Reader, ref chunkRef, head chunkHead) error {
	c.counts, c.messages = c.counts[:0], 0
	rest := c.raw[ref.length:]
	for len(rest) > 0 {
		at := ref.offset + ref.length + ref.indexLen - int64(len(rest))
		if len(rest) < recordHeaderLen+6 || rest[0] != byte(mcaplib.OpMessageIndex) {
			return r.corrupt(at, errNoRecord)
		}
		length := binary.LittleEndian.Uint64(rest[1:])
		body := rest[recordHeaderLen:]
		if length > uint64(len(body)) || length < 6 ||
			uint64(binary.LittleEndian.Uint32(body[2:])) != length-6 || (length-6)%indexEntryLen != 0 {
			return r.corrupt(at, errNoRecord)
		}
		record := rest[:recordHeaderLen+length]
		rest, body = body[length:], body[:length]
		if length == 6 { // of no message
			continue
		}
		entries := body[6:]
		c.parts = append(c.parts, record)
		c.counts = append(c.counts, channelCount{
			channel: binary.LittleEndian.Uint16(body), messages: len(entries) / indexEntryLen,
		})
		c.messages += uint64(len(entries) / indexEntryLen)
		for ; len(entries) > 0; entries = entries[indexEntryLen:] {
			time, offset := binary.LittleEndian.Uint64(entries), binary.LittleEndian.Uint64(entries[8:])
			if offset >= head.uncompressed || nanos(time) < head.start || nanos(time) > head.end {
				return r.corrupt(at, errIndex)
			}
		}
	}
	if c.messages == 0 {
		return storage.ErrOtherIDs // nothing to copy, or nothing that is known
	}
	return nil
}
