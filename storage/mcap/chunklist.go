package mcap

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"

	mcaplib "github.com/foxglove/mcap/go/mcap"
)

// perBlock is how many chunks are gathered into one block of a chunkList.
const perBlock = 64

// chunkList is where the chunks of a file lie, in the order of the file. A file may have millions, so they are kept in
// blocks: of a block only the bounds are in memory, its chunks are read again from the summary when they are needed, or
// are packed into some 15 bytes each when the file has no summary.
type chunkList struct {
	blocks []chunkBlock
	count  int
	filled []chunkRef // of the last block, which is still being packed; nil when the list is complete
	until  int64      // end of the last chunk
}

// chunkBlock is a run of chunks.
type chunkBlock struct {
	first      int   // position of its first chunk in the file
	count      int   // of chunks
	start, end int64 // smallest and largest log time
	at, length int64 // of its chunk index records in the summary; length 0 when packed
	packed     []byte
}

func (b *chunkBlock) cover(ref chunkRef) {
	if b.count == 0 {
		b.start, b.end = ref.start, ref.end
	}
	b.start, b.end = min(b.start, ref.start), max(b.end, ref.end)
	b.count++
}

// add appends a chunk that lies behind all others and keeps it in memory.
func (l *chunkList) add(ref chunkRef) {
	ref.position = l.count
	l.count++
	l.until = ref.offset + ref.length
	l.filled = append(l.filled, ref)
	if len(l.filled) == perBlock {
		l.close()
	}
}

// close packs what add gathered. It must be called after the last add.
func (l *chunkList) close() {
	if len(l.filled) == 0 {
		return
	}
	block := chunkBlock{first: l.filled[0].position}
	packed := make([]byte, 0, perBlock*20)
	var before chunkRef
	for _, ref := range l.filled {
		block.cover(ref)
		packed = ref.pack(packed, before)
		before = ref
	}
	block.packed = slices.Clone(packed)
	l.blocks = append(l.blocks, block)
	l.filled = l.filled[:0]
}

// addIndexed appends a chunk whose index record lies at this place of the summary. It reports false when the chunk does
// not lie behind all others.
func (l *chunkList) addIndexed(ref chunkRef, rec record) bool {
	if ref.offset < l.until {
		return false
	}
	n := len(l.blocks)
	if n == 0 || l.blocks[n-1].count == perBlock {
		l.blocks = append(l.blocks, chunkBlock{first: l.count, at: rec.offset})
		n++
	}
	block := &l.blocks[n-1]
	block.cover(ref)
	block.length = rec.end() - block.at
	l.count++
	l.until = ref.offset + ref.length
	return true
}

// block gives the chunks of a block, appended to refs.
func (l *chunkList) block(src source, i int, refs []chunkRef) ([]chunkRef, error) {
	block := l.blocks[i]
	if block.length == 0 {
		return block.unpack(refs), nil
	}
	// The summary is as large as the index of the whole file, so only this part of it is read.
	records, err := src.slice(block.at, block.length)
	if err != nil {
		return refs, err
	}
	position := block.first
	at, err := walk(records, func(op mcaplib.OpCode, body []byte, _ int) error {
		if op != mcaplib.OpChunkIndex {
			return nil
		}
		ref, err := parseChunkRef(body)
		ref.position = position
		refs = append(refs, ref)
		position++
		return err
	})
	if err != nil {
		return refs, src.corrupt(block.at+int64(at), err)
	}
	return refs, nil
}

// chunk gives one chunk by its position in the file.
func (l *chunkList) chunk(src source, position int) (chunkRef, error) {
	i := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > position }) - 1
	if i < 0 || position >= l.count {
		return chunkRef{}, fmt.Errorf("chunk %d of %d: %w", position, l.count, errNoRecord)
	}
	refs, err := l.block(src, i, make([]chunkRef, 0, perBlock))
	if err != nil {
		return chunkRef{}, err
	}
	if at := position - l.blocks[i].first; at < len(refs) {
		return refs[at], nil
	}
	return chunkRef{}, src.corrupt(l.blocks[i].at, errNoRecord)
}

// all goes through the chunks in the order of the file. It ends after the first error.
func (l *chunkList) all(src source) iter.Seq2[chunkRef, error] {
	return func(yield func(chunkRef, error) bool) {
		var refs []chunkRef
		for i := range l.blocks {
			var err error
			if refs, err = l.block(src, i, refs[:0]); err != nil {
				yield(chunkRef{}, err)
				return
			}
			for _, ref := range refs {
				if !yield(ref, nil) {
					return
				}
			}
		}
	}
}

const (
	flagBare = 1 << iota
	flagTold
)

// pack appends a chunk as differences to the one before it.
func (ref chunkRef) pack(to []byte, before chunkRef) []byte {
	flags := byte(0)
	if ref.bare {
		flags |= flagBare
	}
	if ref.told {
		flags |= flagTold
	}
	to = append(to, flags)
	to = binary.AppendVarint(to, ref.offset-before.offset-before.length-before.indexLen)
	to = binary.AppendUvarint(to, uint64(ref.length))
	to = binary.AppendUvarint(to, uint64(ref.indexLen))
	to = binary.AppendVarint(to, ref.start-before.start)
	return binary.AppendVarint(to, ref.end-ref.start)
}

func (b *chunkBlock) unpack(refs []chunkRef) []chunkRef {
	var before chunkRef
	rest := b.packed
	unsigned := func() int64 {
		value, n := binary.Uvarint(rest)
		rest = rest[n:]
		return int64(value)
	}
	signed := func() int64 {
		value, n := binary.Varint(rest)
		rest = rest[n:]
		return value
	}
	for i := range b.count {
		ref := chunkRef{position: b.first + i, bare: rest[0]&flagBare != 0, told: rest[0]&flagTold != 0}
		rest = rest[1:]
		ref.offset = before.offset + before.length + before.indexLen + signed()
		ref.length, ref.indexLen = unsigned(), unsigned()
		ref.start = before.start + signed()
		ref.end = ref.start + signed()
		refs = append(refs, ref)
		before = ref
	}
	return refs
}

// indexPairLen is the length of an entry of indexedChunk.indexes.
const indexPairLen = 2 + 8

// indexedChunk is a chunk index record (MCAP specification, Chunk Index). Its lists stay parts of the record.
type indexedChunk struct {
	start, end               int64
	offset, length           uint64
	indexes                  []byte // pairs of channel and place of its message index
	indexLen                 uint64
	compression              []byte
	compressed, uncompressed uint64
}

func parseChunkIndex(body []byte) (indexedChunk, error) {
	c := cursor{rest: body}
	index := indexedChunk{start: nanos(c.uint64()), end: nanos(c.uint64()), offset: c.uint64(), length: c.uint64()}
	index.indexes = c.take(uint64(c.uint32()))
	index.indexLen = c.uint64()
	index.compression = c.take(uint64(c.uint32()))
	index.compressed, index.uncompressed = c.uint64(), c.uint64()
	return index, c.err
}

// parseChunkRef takes what is needed of a chunk index record to read the chunk.
func parseChunkRef(body []byte) (chunkRef, error) {
	index, err := parseChunkIndex(body)
	if err != nil {
		return chunkRef{}, err
	}
	ref := chunkRef{start: index.start, end: index.end, channels: index.indexes}
	const limit = math.MaxInt64 / 4 // so that sums can not overflow; the caller compares with the file
	if index.offset > limit || index.length > limit || index.indexLen > limit ||
		index.length < recordHeaderLen+chunkFixedLen || ref.end < ref.start {
		return ref, fmt.Errorf("chunk index: %w", errNoRecord)
	}
	ref.offset, ref.length, ref.indexLen = int64(index.offset), int64(index.length), int64(index.indexLen)
	return ref, nil
}
