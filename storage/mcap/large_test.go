package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// largeFile is how large the files of these tests are, in bytes: 512 MB, or 10 GB if ROSBAGD_LARGE_FILES is set.
func largeFile() int64 {
	if os.Getenv("ROSBAGD_LARGE_FILES") != "" {
		return 10 << 30
	}
	return 512 << 20
}

// memoryOfAReader is what reading a file of any size may take.
const memoryOfAReader = 64 << 20

// giant is a file that is made while it is read: every chunk is the same but for its times, which go up by giantStep.
type giant struct {
	head, tail   []byte
	chunk, index []byte // with placeholders
	times        [2][]int
	offsets      []int // of the index: places of offsets, which grow by the length of a chunk
	chunks       int64
	reads, bytes int64
}

const (
	giantStart = 1_700_000_000_000_000_000
	giantStep  = 1_000_000
	giantTime  = 0x1122334455667788
)

func newGiant(t testing.TB, size int64, messages, payload int, finished bool) *giant {
	b := build(t).two()
	g := &giant{head: bytes.Clone(b.bytes)}
	said2 := make([]said, messages)
	for i := range said2 {
		said2[i] = said{channel: 1, log: giantTime, pub: giantTime, data: strings.Repeat("x", payload)}
	}
	said2[messages-1].channel = 2
	b.chunk(chunkKind{noCRC: true}, said2...)
	g.chunk = bytes.Clone(b.bytes[len(g.head):])
	g.index = b.indexes[0]
	for i, piece := range [][]byte{g.chunk, g.index} {
		for at := 0; at+8 <= len(piece); at++ {
			if binary.LittleEndian.Uint64(piece[at:]) == giantTime {
				g.times[i] = append(g.times[i], at)
			}
		}
	}
	g.offsets = []int{9 + 16, 9 + 36 + 2, 9 + 36 + 12} // chunk, message indexes of two channels
	g.chunks = size / int64(len(g.chunk))
	if !finished {
		g.index = nil
		return g
	}
	dataEnd := record1(0x0f, u32(0))
	g.head = append(g.head, dataEnd...) // moved behind the chunks by ReadAt
	start := g.dataLen() + int64(len(dataEnd))
	last := uint64(giantStart + (g.chunks-1)*giantStep)
	n := uint64(g.chunks)
	counts := bytes.Join([][]byte{u16(1), u64(n * uint64(messages-1)), u16(2), u64(n)}, nil)
	g.tail = bytes.Join([][]byte{
		bytes.Join(b.described, nil),
		record1(0x0b, u64(n*uint64(messages)), u16(1), u32(2), u32(0), u32(0), u32(uint32(n)), u64(giantStart), u64(last), u32(uint32(len(counts))), counts),
		{0x02},
		u64(20), u64(uint64(start)), u64(0), u32(0), []byte("\x89MCAP0\r\n"),
	}, nil)
	return g
}

const giantDataEnd = 9 + 4

func (g *giant) headLen() int64 {
	if g.index == nil {
		return int64(len(g.head))
	}
	return int64(len(g.head)) - giantDataEnd
}

func (g *giant) dataLen() int64 { return g.headLen() + g.chunks*int64(len(g.chunk)) }

func (g *giant) size() int64 {
	if g.index == nil {
		return g.dataLen()
	}
	return g.dataLen() + giantDataEnd + g.chunks*int64(len(g.index)) + int64(len(g.tail))
}

// piece is the part of the file that begins at or before an offset.
func (g *giant) piece(at int64) (start int64, content []byte, times, offsets []int, i int64) {
	head, data := g.headLen(), g.dataLen()
	indexes := data + giantDataEnd
	switch {
	case at < head:
		return 0, g.head[:head], nil, nil, 0
	case at < data:
		i = (at - head) / int64(len(g.chunk))
		return head + i*int64(len(g.chunk)), g.chunk, g.times[0], nil, i
	case at < indexes:
		return data, g.head[head:], nil, nil, 0
	case at < indexes+g.chunks*int64(len(g.index)):
		i = (at - indexes) / int64(len(g.index))
		return indexes + i*int64(len(g.index)), g.index, g.times[1], g.offsets, i
	}
	return g.size() - int64(len(g.tail)), g.tail, nil, nil, 0
}

func (g *giant) ReadAt(p []byte, at int64) (n int, err error) {
	g.reads++
	g.bytes += int64(len(p))
	for n < len(p) {
		if at+int64(n) >= g.size() {
			return n, io.EOF
		}
		start, content, times, offsets, i := g.piece(at + int64(n))
		from := int(at + int64(n) - start)
		copied := p[n : n+copy(p[n:], content[from:])]
		put := func(place int, value uint64) {
			for k, b := range u64(value) {
				if to := place + k - from; to >= 0 && to < len(copied) {
					copied[to] = b
				}
			}
		}
		for _, place := range times {
			put(place, uint64(giantStart+i*giantStep))
		}
		for _, place := range offsets {
			put(place, binary.LittleEndian.Uint64(content[place:])+uint64(i)*uint64(len(g.chunk)))
		}
		n += len(copied)
	}
	return n, nil
}

// heapInUse is the memory in use, with what was not collected yet.
func heapInUse() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapInuse
}

// TestLargeFiles opens large files, looks for a message in their middle and reads a part: with few reads, and within
// memory that does not grow with the file.
func TestLargeFiles(t *testing.T) {
	for name, test := range map[string]struct{ messages, payload int }{
		"chunks of 1 MiB": {10, 104_000}, "chunks of 4 KiB": {4, 950},
	} {
		for _, order := range []storage.Order{storage.ByLogTime, storage.ByFile, storage.ByPublishTime} {
			t.Run(name, func(t *testing.T) {
				runtime.GC()
				base := heapInUse()
				g := newGiant(t, largeFile(), test.messages, test.payload, true)
				r, err := newReader("giant", g, g.size())
				require.NoError(t, err)
				defer r.Close()
				require.Empty(t, r.Info().Damage)
				require.Equal(t, uint64(g.chunks)*uint64(test.messages), r.Info().MessageCount)
				require.False(t, r.Info().Unindexed)

				_, err = r.Messages(storage.Query{Order: order}) // finds out where the messages are
				require.NoError(t, err)
				g.reads, g.bytes = 0, 0
				middle := int64(giantStart + g.chunks/2*giantStep)
				it, err := r.Messages(storage.Query{Order: order, FromNanos: middle})
				require.NoError(t, err)
				m, err := it.Next()
				require.NoError(t, err)
				require.Equal(t, middle, m.LogTimeNanos)
				if order != storage.ByPublishTime {
					require.LessOrEqual(t, g.reads, int64(10))
					require.LessOrEqual(t, g.bytes, 3*int64(len(g.chunk)+64*len(g.index)))
				}
				most := heapInUse()
				for i := range 2000 {
					m, err := it.Next()
					require.NoError(t, err)
					require.Equal(t, middle+int64(i+1)/int64(test.messages)*giantStep, m.LogTimeNanos)
					if i%50 == 0 {
						most = max(most, heapInUse())
					}
				}
				require.NoError(t, it.Close())
				t.Logf("%d MB in use", (int64(most)-int64(base))>>20)
				require.Less(t, int64(most)-int64(base), int64(memoryOfAReader))

				g.reads, g.bytes = 0, 0
				it, err = r.Messages(storage.Query{Topics: []storage.TopicID{1}, FromNanos: middle, UntilNanos: middle, HasUntil: true, Order: order})
				require.NoError(t, err)
				m, err = it.Next()
				require.NoError(t, err)
				require.Equal(t, storage.TopicID(1), m.Topic)
				_, err = it.Next()
				require.ErrorIs(t, err, io.EOF)
			})
		}
		t.Run(name+", unfinished", func(t *testing.T) {
			runtime.GC()
			base := heapInUse()
			g := newGiant(t, largeFile(), test.messages, test.payload, false)
			r, err := newReader("giant", g, g.size())
			require.NoError(t, err)
			defer r.Close()
			require.Equal(t, uint64(g.chunks)*uint64(test.messages), r.Info().MessageCount)
			require.Contains(t, r.Info().Damage, "unfinished")
			most := heapInUse()
			it, err := r.Messages(storage.Query{FromNanos: giantStart + g.chunks/2*giantStep})
			require.NoError(t, err)
			for i := range 2000 {
				_, err := it.Next()
				require.NoError(t, err)
				if i%50 == 0 {
					most = max(most, heapInUse())
				}
			}
			t.Logf("%d MB in use", (int64(most)-int64(base))>>20)
			require.Less(t, int64(most)-int64(base), int64(memoryOfAReader))
		})
	}
}

// TestOverlappingChunksAreReadWhenTheirTimeComes never has many chunks in memory, however many overlap.
func TestOverlappingChunksAreReadWhenTheirTimeComes(t *testing.T) {
	g := newGiant(t, 400<<20, 10, 104_000, true)
	for i := range g.times { // all chunks begin at once
		g.times[i] = g.times[i][:0]
	}
	for _, piece := range [][]byte{g.chunk, g.index} {
		for at := 0; at+8 <= len(piece); at++ {
			if binary.LittleEndian.Uint64(piece[at:]) == giantTime {
				binary.LittleEndian.PutUint64(piece[at:], giantStart)
			}
		}
	}
	r, err := newReader("giant", g, g.size())
	require.NoError(t, err)
	defer r.Close()
	runtime.GC()
	base := heapInUse()
	it, err := r.Messages(storage.Query{})
	require.NoError(t, err)
	most, n := uint64(0), uint64(0)
	for {
		_, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if n++; n%20 == 0 {
			most = max(most, heapInUse())
		}
	}
	require.Equal(t, r.Info().MessageCount, n)
	t.Logf("%d MB in use", (int64(most)-int64(base))>>20)
	require.Less(t, int64(most)-int64(base), int64(memoryOfAReader))
}
