package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// damagedFiles is how many files each test of this file damages in each way: 500 truncations, 500 flipped bytes and 1,000
// patterns of lost pages, or what ROSBAGD_DAMAGED_FILES says in percent of that (100 is all of it).
func damagedFiles(t *testing.T, full int) int {
	percent := 5
	if text := os.Getenv("ROSBAGD_DAMAGED_FILES"); text != "" {
		var err error
		percent, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return max(1, full*percent/100)
}

// page is what a file system loses at once.
const page = 4096

// recorded is a file of some forty chunks with random payloads, as a recorder leaves it; the second topic turns up late.
func recorded(t testing.TB, options Options, seal bool) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "x.mcap")
	options.ChunkSize = 9000
	w, err := Create(path, options)
	require.NoError(t, err)
	defer w.Close()
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	for i := range 300 {
		if i == 100 {
			_, err = w.AddTopic(storage.Topic{Name: "/late", Type: "x_msgs/msg/X", SerializationFormat: "cdr"})
			require.NoError(t, err)
		}
		m := storage.Message{LogTimeNanos: int64(1000 + i), PublishTimeNanos: int64(900 + i), Data: make([]byte, 20+random.IntN(2000))}
		if i > 100 {
			m.Topic = storage.TopicID(i % 2)
		}
		for k := range m.Data {
			m.Data[k] = byte(random.Uint32() >> 28) // small numbers look like records
		}
		require.NoError(t, w.Write([]storage.Message{m}))
	}
	require.NoError(t, w.Flush())
	if seal {
		require.NoError(t, w.Seal([]byte("version: 9\n")))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// layout is where what matters stands in a whole file.
type layout struct {
	data     []byte
	chunks   []chunkPlace
	channels map[uint16][][2]int // every copy of its record
}

type chunkPlace struct {
	from, to int
	messages []said
}

func layoutOf(t testing.TB, data []byte) layout {
	l := layout{data: data, channels: map[uint16][][2]int{}}
	for at := 8; at+9 <= len(data) && data[at] != 0x89; {
		to := at + 9 + int(binary.LittleEndian.Uint64(data[at+1:]))
		switch data[at] {
		case 0x04:
			id := binary.LittleEndian.Uint16(data[at+9:])
			l.channels[id] = append(l.channels[id], [2]int{at, to})
		case 0x06:
			scan := fullScan{t: t, topics: map[uint16]string{}}
			scan.records(data[at:to], true)
			l.chunks = append(l.chunks, chunkPlace{at, to, scan.messages})
		}
		at = to
	}
	return l
}

// left is what has to come out of a damaged copy: the messages of the chunks that are as they were. The times in the
// head of a chunk may differ, since its messages have them too. lost tells how many messages are missing. A channel whose
// record is another one has no checksum: its messages may be believed or not.
func (l layout) left(damaged []byte, believe bool) (messages []said, lost int) {
	same := func(from, to int) bool { return to <= len(damaged) && bytes.Equal(l.data[from:to], damaged[from:to]) }
	known := map[uint16]bool{}
	for id, places := range l.channels {
		for _, place := range places {
			known[id] = known[id] || same(place[0], place[1]) || (believe && place[1] <= len(damaged))
		}
	}
	for _, chunk := range l.chunks {
		whole := same(chunk.from, chunk.from+9) && same(chunk.from+9+16, chunk.to)
		for _, m := range chunk.messages {
			if whole && known[m.channel] {
				messages = append(messages, m)
			} else {
				lost++
			}
		}
	}
	return messages, lost
}

// saidBy turns messages into what was said, without the channel.
func saidBy(messages []storage.Message) []said {
	var result []said
	for _, m := range messages {
		result = append(result, said{log: uint64(m.LogTimeNanos), pub: uint64(m.PublishTimeNanos), data: string(m.Data)})
	}
	return result
}

// require checks what a reader gives of a damaged copy.
func (l layout) require(t *testing.T, damaged []byte, what string) {
	t.Helper()
	want, lost := l.left(damaged, false)
	r, err := fromBytes(damaged)
	if err != nil {
		require.ErrorIs(t, err, storage.ErrUnknownFormat, what)
		require.Empty(t, want, what)
		return
	}
	defer r.Close()
	if believed, lostThen := l.left(damaged, true); r.Info().MessageCount == uint64(len(believed)) {
		want, lost = believed, lostThen
	}
	for i := range want {
		want[i].channel = 0
	}
	// Reading by log time gives the order of the file here.
	for _, order := range []storage.Order{storage.ByFile, storage.ByLogTime} {
		got, faults := collect(t, r, storage.Query{Order: order})
		require.Equal(t, len(want), len(got), "%s: %s", what, r.Info().Damage)
		requireSame(t, want, saidBy(got), "%s", what)
		if lost > 0 {
			require.True(t, r.Info().Damage != "" || len(faults) > 0, "%s: nothing is told of %d lost messages", what, lost)
		}
		if r.contents.scanned {
			require.Empty(t, faults, what)
			require.Equal(t, uint64(len(want)), r.Info().MessageCount, what)
			require.Contains(t, r.Info().Damage, fmt.Sprint(len(want)), what)
		}
	}
}

// recordings are the files that are damaged.
func recordings(t *testing.T, test func(t *testing.T, l layout, random *rand.Rand)) {
	for _, compression := range []Compression{CompressionNone, CompressionZstd, CompressionLZ4} {
		for _, seal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q, sealed %v", compression, seal), func(t *testing.T) {
				l := layoutOf(t, recorded(t, Options{Compression: compression}, seal))
				require.Greater(t, len(l.chunks), 20)
				test(t, l, rand.New(rand.NewPCG(3, 4)))
			})
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	recordings(t, func(t *testing.T, l layout, random *rand.Rand) {
		for range damagedFiles(t, 500) {
			cut := 1 + random.IntN(len(l.data))
			l.require(t, l.data[:cut], fmt.Sprintf("cut at %d", cut))
		}
	})
}

func TestFlippedAnywhere(t *testing.T) {
	recordings(t, func(t *testing.T, l layout, random *rand.Rand) {
		for i := range damagedFiles(t, 500) {
			at := random.IntN(len(l.data))
			if i%2 == 1 { // half of them where records are described, not in payloads
				at = l.vulnerable(random)
			}
			damaged := bytes.Clone(l.data)
			damaged[at] ^= byte(1 + random.IntN(255))
			l.require(t, damaged, fmt.Sprintf("byte %d is %#x instead of %#x", at, damaged[at], l.data[at]))
		}
	})
}

// vulnerable is a byte of a chunk's head, of what stands between two chunks, or of the end.
func (l layout) vulnerable(random *rand.Rand) int {
	i := random.IntN(len(l.chunks))
	until := len(l.data)
	if i+1 < len(l.chunks) {
		until = l.chunks[i+1].from
	}
	at := l.chunks[i].to - 49 + random.IntN(until-l.chunks[i].to+49)
	if at < l.chunks[i].to { // in the head instead of the last bytes
		at = l.chunks[i].from + at - (l.chunks[i].to - 49)
	}
	return at
}

func TestLostPages(t *testing.T) {
	recordings(t, func(t *testing.T, l layout, random *rand.Rand) {
		pages := (len(l.data) + page - 1) / page
		for range damagedFiles(t, 1000) {
			damaged := bytes.Clone(l.data)
			var lost []int
			for range 1 + random.IntN(12) {
				lost = append(lost, random.IntN(pages))
				from := lost[len(lost)-1] * page
				clear(damaged[from:min(from+page, len(damaged))])
			}
			if random.IntN(3) == 0 { // and a tail of zeros
				clear(damaged[random.IntN(len(damaged)):])
			}
			l.require(t, damaged, fmt.Sprintf("pages %v", lost))
		}
	})
}
