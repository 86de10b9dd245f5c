package mcap

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// chunkFixedLen is the length of a chunk record's fields beside the compression's name and the records.
const chunkFixedLen = 8 + 8 + 8 + 4 + 4 + 8

// chunkRef is where a chunk lies. Messages that stand in the data section without a chunk are gathered into bare ones,
// whose bytes are the records themselves.
type chunkRef struct {
	position       int   // among the chunks of the file
	offset, length int64 // the whole record; of a bare one all its records
	start, end     int64 // smallest and largest log time
	indexLen       int64 // bytes of the message index records that follow; 0 when there are none
	// channels is the list of channels and offsets of the chunk index record, ten bytes each; empty when there is none.
	channels []byte
	bare     bool
	told     bool // what is wrong with it is part of Info.Damage
}

// chunkHead are the fields of a chunk record in front of its records.
type chunkHead struct {
	start, end   int64
	uncompressed uint64
	crc          uint32
	compression  Compression
	recordsLen   uint64
	headLen      int64 // of these fields
}

func parseChunkHead(body []byte) (chunkHead, error) {
	c := cursor{rest: body}
	h := chunkHead{start: nanos(c.uint64()), end: nanos(c.uint64()), uncompressed: c.uint64(), crc: c.uint32()}
	h.compression = Compression(c.text())
	h.recordsLen = c.uint64()
	h.headLen = int64(chunkFixedLen + len(h.compression))
	return h, c.err
}

// load reads the records of a chunk into memory that belongs to the caller alone.
func (r *Reader) load(ref chunkRef) ([]byte, error) {
	raw, err := r.slice(ref.offset, ref.length)
	if err != nil || ref.bare {
		return raw, err
	}
	return r.chunkRecords(raw, ref.offset)
}

// chunkRecords gives the records of a chunk whose whole record is raw and stands at this offset. When they are not
// compressed they are a part of raw.
func (r *Reader) chunkRecords(raw []byte, offset int64) ([]byte, error) {
	if len(raw) < recordHeaderLen || raw[0] != byte(mcaplib.OpChunk) ||
		binary.LittleEndian.Uint64(raw[1:]) != uint64(len(raw)-recordHeaderLen) {
		return nil, r.corrupt(offset, errNoRecord)
	}
	head, err := parseChunkHead(raw[recordHeaderLen:])
	if err != nil {
		return nil, r.corrupt(offset, err)
	}
	stored := raw[recordHeaderLen+head.headLen:]
	if !within(int64(len(stored)), head.recordsLen) { // zeros from here on look like an empty chunk
		return nil, r.corrupt(offset, errChunkSize)
	}
	records, err := r.unpack(head, stored[:head.recordsLen])
	if err != nil {
		return nil, r.corrupt(offset, err)
	}
	return records, nil
}

// unpack gives the records of a chunk after checking their size and checksum; see decompress.
func (r *Reader) unpack(head chunkHead, stored []byte) ([]byte, error) {
	records, err := r.decompress(head, stored)
	if err != nil {
		return nil, err
	}
	if uint64(len(records)) != head.uncompressed {
		return nil, errChunkSize
	}
	if head.crc != 0 && crc32.ChecksumIEEE(records) != head.crc {
		return nil, errChecksum
	}
	return records, nil
}

// messageAt is a message within the records of a chunk.
type messageAt struct {
	channel  uint16
	sequence uint32
	log, pub int64
	data     []byte
}

func parseMessage(body []byte) messageAt {
	return messageAt{
		channel:  binary.LittleEndian.Uint16(body),
		sequence: binary.LittleEndian.Uint32(body[2:]),
		log:      nanos(binary.LittleEndian.Uint64(body[6:])),
		pub:      nanos(binary.LittleEndian.Uint64(body[14:])),
		data:     body[messageHeaderLen:len(body):len(body)],
	}
}

// walk goes through the records of a chunk. On damage it returns what is wrong and where, counted from the start of
// records; everything before was visited.
func walk(records []byte, visit func(op mcaplib.OpCode, body []byte, at int) error) (int, error) {
	at := 0
	for at < len(records) {
		rest := records[at:]
		if len(rest) < recordHeaderLen {
			return at, fmt.Errorf("record in chunk: %w", errNoRecord)
		}
		length := binary.LittleEndian.Uint64(rest[1:])
		op := mcaplib.OpCode(rest[0])
		if op == 0 || length > uint64(len(rest)-recordHeaderLen) || (op == mcaplib.OpMessage && length < messageHeaderLen) {
			return at, fmt.Errorf("record in chunk: %w", errNoRecord)
		}
		next := at + recordHeaderLen + int(length)
		if err := visit(op, records[at+recordHeaderLen:next], at); err != nil {
			return at, err
		}
		at = next
	}
	return at, nil
}
