package mcap

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// long makes n messages that fill some pages, in a chunk that is not compressed.
func long(n int, from uint64) []said {
	messages := talk(n, from)
	for i := range messages {
		messages[i].data += strings.Repeat("-", 300)
	}
	return messages
}

// TestRestOfALostChunkIsNoMessage loses the head of a chunk of another program's file and a page in its middle: what is
// left between the two has no checksum, however much it looks like messages outside of chunks. Whether the file has
// chunks shows only behind it, or in the chunk itself.
func TestRestOfALostChunkIsNoMessage(t *testing.T) {
	inside := [][]byte{schemaRecord(1, "std_msgs/msg/String"), channelRecord(1, 1, "/a"), channelRecord(2, 0, "/b")}
	for _, c := range []struct {
		name   string
		inside [][]byte
		second bool // another chunk behind it
	}{
		{"and a chunk behind it", nil, true},
		{"and its message indexes", nil, false},
		{"descriptions in the chunk", inside, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := build(t)
			if c.inside == nil {
				b.two()
			}
			from := len(b.bytes)
			b.chunk(chunkKind{inside: c.inside}, long(60, 1)...)
			var want []string
			if c.second {
				for _, m := range talk(20, 5000) {
					want = append(want, m.data)
				}
				b.chunk(chunkKind{inside: c.inside}, talk(20, 5000)...)
			}
			data := bytes.Clone(b.end(summaryKind{none: true}))
			head := 100
			if c.inside != nil {
				head = 9 + chunkFixedLen // the schema in the chunk stays
			}
			clear(data[from : from+head])
			clear(data[from+2*page : from+3*page])
			got, info, _ := payloads(t, data)
			require.Equal(t, want, got, info.Damage)
			require.Equal(t, len(want), int(info.MessageCount), info.Damage)
		})
	}
}

// TestMessagesBehindTwoHolesAreFound is the same damage of a file without chunks, which costs only what it covers. A
// message in it is a whole file with chunks.
func TestMessagesBehindTwoHolesAreFound(t *testing.T) {
	inner := build(t).two().chunk(chunkKind{}, talk(30, 1)...).chunk(chunkKind{}, talk(30, 400)...).end(summaryKind{})
	messages := append(append(long(60, 1), said{1, 700, 700, string(inner)}), long(60, 1000)...)
	for _, summary := range []summaryKind{{}, {none: true}} {
		b := build(t).two()
		var starts []int
		for _, m := range messages {
			starts = append(starts, len(b.bytes))
			b.bare(m)
		}
		data := bytes.Clone(b.end(summary))
		var want []string
		for i, m := range messages {
			if i != 0 && i != 30 && i != 90 {
				want = append(want, m.data)
				continue
			}
			clear(data[starts[i]+3 : starts[i]+60])
		}
		got, info, faults := payloads(t, data)
		require.Empty(t, faults)
		require.Equal(t, want, got, info.Damage)
	}
}
