package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// readEverything reads a file in every way there is. Nothing may panic, and what is given must belong to a topic.
func readEverything(t testing.TB, data []byte) {
	r, err := fromBytes(data)
	if err != nil {
		require.True(t, errors.Is(err, storage.ErrUnknownFormat) || errors.Is(err, storage.ErrEmpty), "%v", err)
	} else {
		topics := len(r.Info().Topics)
		for _, order := range []storage.Order{storage.ByLogTime, storage.ByPublishTime, storage.ByFile} {
			for _, q := range []storage.Query{{}, {Topics: []storage.TopicID{0}, FromNanos: 5, UntilNanos: 700, HasUntil: true}} {
				q.Order = order
				messages, _ := collect(t, r, q)
				for _, m := range messages {
					require.Less(t, int(m.Topic), topics)
				}
			}
		}
		readExtras(t, r)
		_, err := r.Blocks()
		require.True(t, err == nil || storage.IsCorruption(err))
		require.NoError(t, r.Close())
	}
	readStream(t, data)
}

func readExtras(t testing.TB, r *Reader) {
	err := r.Extras(func(a storage.Attachment) error {
		_, err := io.Copy(io.Discard, a.Data)
		return err
	}, func(storage.Record) error { return nil })
	require.True(t, err == nil || storage.IsCorruption(err), "%v", err)
}

func readStream(t testing.TB, data []byte) {
	if s, err := OpenStream("memory", bytes.NewReader(data)); err == nil {
		require.NoError(t, s.Close())
		drain(t, bytes.NewReader(data))
	}
}

// seeds are files of every kind, whole and damaged.
func seeds(t testing.TB) [][]byte {
	var all [][]byte
	files := conformingFiles(t)
	random := rand.New(rand.NewPCG(5, 6))
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		data := files[name]
		if len(data) > 30_000 || (strings.HasPrefix(name, `"`) && i%4 != 0) {
			continue
		}
		damaged := bytes.Clone(data)
		damaged[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		all = append(all, data, damaged, data[:random.IntN(len(data))])
	}
	for _, bomb := range bombs(t) {
		all = append(all, bomb)
	}
	all = append(all, build(t).metadata("x", "k", "v").attachment("a", []byte("data"), true).attachment("b", nil, false).end(summaryKind{}))
	return append(all, []byte("\x89MCAP0\r\n"), nil)
}

func FuzzReader(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 200 {
			readEverything(t, data)
			return
		}
		require.Less(t, allocated(func() { readEverything(t, data) }), uint64(tooMuch))
	})
}

func FuzzScan(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Reader{source: source{path: "memory", file: bytes.NewReader(data), size: int64(len(data))}}
		for _, deepFrom := range []int64{0, r.size} {
			found, err := scanFile(r, deepFrom)
			require.NoError(t, err)
			until := int64(0)
			for ref, err := range found.chunks.all(r.source) {
				require.NoError(t, err)
				require.GreaterOrEqual(t, ref.offset, until)
				until = ref.offset + ref.length
				require.LessOrEqual(t, until, r.size)
			}
		}
		require.NoError(t, r.Close())
	})
}

func FuzzStream(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { readStream(t, data) })
}

func FuzzExtras(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := fromBytes(data); err == nil {
			readExtras(t, r)
			require.NoError(t, r.Close())
		}
	})
}

// tooMuch is what reading a file of 200 bytes must not take.
const tooMuch = 100 << 20

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bombs are small files that claim to be large.
func bombs(t testing.TB) map[string][]byte {
	head := build(t).describe(channelRecord(1, 0, "/a")).bytes
	with := func(records ...[]byte) []byte { return append(bytes.Clone(head), bytes.Join(records, nil)...) }
	chunk := func(compression string, uncompressed uint64, stored []byte) []byte {
		return record1(0x06, u64(1), u64(9), u64(uncompressed), u32(0), text(compression), u64(uint64(len(stored))), stored)
	}
	zstdMagic := u32(0xfd2fb528)
	// A frame of one segment whose content is said to be 1 GiB, and one with a window of 2 GiB.
	claims := append(append(slices.Clone(zstdMagic), 0xa0), u32(1<<30)...)
	claims = append(claims, 0x03, 0x00, 0x10, 0xaa)
	window := append(slices.Clone(zstdMagic), 0x00, 21<<3, 0x03, 0x00, 0x10, 0xaa)
	small := pack(t, "zstd", []byte("small"))
	// Blocks of 128 KiB that take four bytes each.
	repeated := append(slices.Clone(zstdMagic), 0x00, 7<<3)
	for range 12 {
		repeated = append(repeated, 0x02, 0x00, 0x10, 0x00)
	}
	repeated = append(repeated, 0x03, 0x00, 0x10, 0x00)
	lz4Zeros := pack(t, "lz4", make([]byte, 10_000))
	files := map[string][]byte{
		"zstd frame that claims much": with(chunk("zstd", 1<<30, claims)),
		"zstd window":                 with(chunk("zstd", 1<<20, window)),
		"second zstd frame":           with(chunk("zstd", 1<<20, append(slices.Clone(small), claims...))),
		"zstd that is repeated":       with(chunk("zstd", 13<<17, repeated)),
		"zstd, more than it has":      with(chunk("zstd", 1<<31-1, repeated)),
		"lz4 that claims much":        with(chunk("lz4", 1<<31-1, lz4Zeros)),
		"lz4, all sizes wrong":        with(chunk("lz4", math.MaxUint64, lz4Zeros)),
		"plain":                       with(chunk("", math.MaxUint64, []byte("x"))),
		"chunk index of nothing":      build(t).two().end(summaryKind{}),
	}
	for _, op := range []byte{0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x77} {
		for _, length := range []uint64{1 << 20, 1 << 31, 1 << 40, math.MaxInt64, math.MaxUint64} {
			name := string(rune('a'+op)) + " of " + string(rune('0'+len(files)))
			files[name] = with([]byte{op}, u64(length), bytes.Repeat([]byte{0xff}, 60))
		}
		// Lengths within the record.
		files["inner of "+string(rune('a'+op))] = with(record1(op, bytes.Repeat([]byte{0xff}, 80)))
		files["zeros of "+string(rune('a'+op))] = with(record1(op, make([]byte, 80)))
	}
	return files
}

// TestSmallFilesTakeLittleMemory reads files of 100 to 500 bytes that claim to be large.
func TestSmallFilesTakeLittleMemory(t *testing.T) {
	for name, data := range bombs(t) {
		require.Less(t, len(data), 500)
		require.Less(t, allocated(func() { readEverything(t, data) }), uint64(tooMuch), name)
	}
}

// TestOffsetsThatOverflow has a summary whose offsets and lengths add up to more than there is.
func TestOffsetsThatOverflow(t *testing.T) {
	whole := build(t).two().chunk(chunkKind{}, talk(10, 1)...).metadata("x").attachment("a", []byte("x"), true)
	data := whole.end(summaryKind{noCRC: true})
	start := binary.LittleEndian.Uint64(data[len(data)-28:])
	for at := int(start); at < len(data)-8; at++ {
		for _, value := range []uint64{math.MaxUint64, math.MaxInt64, math.MaxInt64 - 8, 1 << 62, 1 << 32} {
			damaged := bytes.Clone(data)
			copy(damaged[at:len(damaged)-8], u64(value))
			readEverything(t, damaged)
		}
	}
}

// endless is a file whose size is as large as a size can be, with nothing but errors in it.
type endless struct{}

var errEndless = errors.New("disk is gone")

func (endless) ReadAt(p []byte, offset int64) (int, error) {
	if offset == 0 && len(p) == 8 {
		return copy(p, "\x89MCAP0\r\n"), nil
	}
	return 0, errEndless
}

func TestErrorsOfReadingAreNoDamage(t *testing.T) {
	_, err := newReader("memory", endless{}, math.MaxInt64)
	require.ErrorIs(t, err, errEndless)
	require.False(t, storage.IsCorruption(err))
}
