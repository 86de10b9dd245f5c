package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// payloads reads a damaged file and gives the payloads, in the order of the file.
func payloads(t *testing.T, data []byte) (got []string, info storage.Info, faults []error) {
	t.Helper()
	r, err := fromBytes(data)
	require.NoError(t, err)
	defer r.Close()
	messages, faults := collect(t, r, storage.Query{Order: storage.ByFile})
	for _, m := range messages {
		got = append(got, string(m.Data))
	}
	return got, r.Info(), faults
}

// innerFile is an MCAP file that is the payload of a message; its messages say "false".
func innerFile(t *testing.T, chunked bool) string {
	messages := make([]said, 30)
	for i := range messages {
		messages[i] = said{channel: uint16(1 + i%2), log: uint64(2000 + i), pub: 1, data: "false"}
	}
	b := build(t).two()
	if chunked {
		for i := 0; i < 30; i += 10 {
			b.chunk(chunkKind{}, messages[i:i+10]...)
		}
	} else {
		b.bare(messages...)
	}
	return string(b.end(summaryKind{}))
}

// TestFilesInPayloads loses the head of a chunk in which whole MCAP files are payloads: none of their messages is given.
func TestFilesInPayloads(t *testing.T) {
	for _, chunked := range []bool{true, false} {
		for _, summary := range []bool{true, false} {
			t.Run(fmt.Sprintf("inner chunked %v, summary %v", chunked, summary), func(t *testing.T) {
				inner := innerFile(t, chunked)
				b := build(t).two()
				var want []string
				var from, to []int
				for i := range 5 {
					from = append(from, len(b.bytes))
					b.chunk(chunkKind{}, said{1, uint64(i), 1, "x" + inner + "y"}, said{2, uint64(i), 1, fmt.Sprint("true ", i)}, said{1, uint64(i), 1, inner})
					to = append(to, len(b.bytes))
				}
				whole := b.bytes
				if summary {
					whole = bytes.Clone(b.end(summaryKind{}))
					copy(whole[len(whole)-8:], "no magic") // so that it does not help
				}
				for damage, hit := range map[string]func(data []byte) []byte{
					"head":          func(data []byte) []byte { clear(data[from[2] : from[2]+40]); return data },
					"length":        func(data []byte) []byte { data[from[2]+2] ^= 0x40; return data },
					"longer length": func(data []byte) []byte { data[from[2]+5] ^= 0x40; return data },
					"content":       func(data []byte) []byte { data[from[2]+400] ^= 0x40; return data },
					"opcode":        func(data []byte) []byte { data[from[2]] ^= 0x40; return data },
					"opcode of a message": func(data []byte) []byte {
						data[from[2]] = 0x05
						return data
					},
					"end of the inner file": func(data []byte) []byte {
						clear(data[from[2] : from[2]+40])
						at := bytes.Index(data[from[2]:], []byte("\x89MCAP0\r\ny"))
						clear(data[from[2]+at-200 : from[2]+at+8])
						return data
					},
				} {
					t.Run(damage, func(t *testing.T) {
						want = nil
						for i := range 5 {
							if i != 2 {
								want = append(want, "x"+inner+"y", fmt.Sprint("true ", i), inner)
							}
						}
						got, info, _ := payloads(t, hit(bytes.Clone(whole)))
						require.Equal(t, want, got)
						require.NotEmpty(t, info.Damage)
						require.Equal(t, uint64(12), info.MessageCount)
					})
				}
				if !summary {
					t.Run("cut within", func(t *testing.T) {
						for cut := from[4] + 50; cut < to[4]-700; cut += 13 {
							got, _, _ := payloads(t, whole[:cut])
							require.Len(t, got, 12, "cut at %d", cut)
						}
					})
				}
			})
		}
	}
}

// TestOneBadChunkOfTen keeps nine, with and without a summary.
func TestOneBadChunkOfTen(t *testing.T) {
	for _, summary := range []bool{true, false} {
		b := build(t).two()
		var bad int
		for i := range 10 {
			if i == 4 {
				bad = len(b.bytes) + 60
			}
			b.chunk(chunkKind{compression: "zstd"}, talk(10, uint64(100*i))...)
		}
		data := b.bytes
		if summary {
			data = b.end(summaryKind{})
		}
		data[bad] ^= 1
		got, info, faults := payloads(t, data)
		require.Len(t, got, 90)
		require.True(t, strings.Contains(info.Damage, "90 messages can be read; 1 damaged chunk of") != (len(faults) == 1))
	}
}

// TestLostDescriptions loses the channel records of the data section.
func TestLostDescriptions(t *testing.T) {
	b := build(t)
	from := len(b.bytes)
	b.two()
	to := len(b.bytes)
	b.chunk(chunkKind{}, talk(20, 1)...).chunk(chunkKind{}, talk(20, 500)...)
	unfinished := bytes.Clone(b.bytes)
	clear(unfinished[from:to])
	got, info, faults := payloads(t, unfinished)
	require.Empty(t, got)
	require.Empty(t, faults)
	require.Contains(t, info.Damage, "40 messages left out because the description of their channel is lost (channel 1, 2)")

	// The summary has copies, also when it is damaged itself.
	whole := b.end(summaryKind{})
	clear(whole[from:to])
	got, info, _ = payloads(t, whole)
	require.Len(t, got, 40)
	require.Empty(t, info.Damage)
	whole[len(whole)-20] ^= 1 // the footer
	got, info, _ = payloads(t, whole)
	require.Len(t, got, 40)
	require.Equal(t, "/a", info.Topics[0].Name)
	require.Contains(t, info.Damage, "40 messages can be read")
}

// TestFirstPageLost has no magic, no header and no channels but those of the summary.
func TestFirstPageLost(t *testing.T) {
	b := build(t).two()
	b.chunk(chunkKind{}, said{1, 1, 1, strings.Repeat("x", 5000)}).chunk(chunkKind{}, talk(20, 5)...)
	data := b.end(summaryKind{none: true})
	clear(data[:page])
	got, info, _ := payloads(t, data)
	require.Empty(t, got)
	require.Contains(t, info.Damage, "20 messages left out")

	b = build(t).two()
	b.chunk(chunkKind{}, said{1, 1, 1, strings.Repeat("x", 5000)}).chunk(chunkKind{}, talk(20, 5)...)
	data = b.end(summaryKind{})
	clear(data[:page])
	got, _, faults := payloads(t, data)
	require.Len(t, got, 20)
	require.Len(t, faults, 1)

	require.True(t, matches([]byte("\x89MCAP0\r\nrest of")))
	require.True(t, matches([]byte("\x89MCAQ0\r\nrest of")))
	require.False(t, matches([]byte("\x89PNG\r\n\x1a\nrest of")))
	require.False(t, matches([]byte("SQLite format 3\x00")))
	require.False(t, matches(make([]byte, 16)))
	_, err := fromBytes(make([]byte, 100_000))
	require.ErrorIs(t, err, storage.ErrUnknownFormat)
}

// TestUnchunkedGoesOnBehindDamage loses a part of a file without chunks: the messages behind it are found again.
func TestUnchunkedGoesOnBehindDamage(t *testing.T) {
	messages := talk(300, 1)
	b := build(t).two()
	var at []int
	for _, m := range messages {
		at = append(at, len(b.bytes))
		b.bare(m)
	}
	for _, lost := range [][2]int{{100, 103}, {1, 200}, {294, 297}} {
		data := bytes.Clone(b.bytes)
		clear(data[at[lost[0]]+3 : at[lost[1]]-3])
		got, info, _ := payloads(t, data)
		var want []string
		for i, m := range messages {
			if i < lost[0] || i >= lost[1] {
				want = append(want, m.data)
			}
		}
		require.Equal(t, want, got, "%s", info.Damage)
		require.Contains(t, info.Damage, "in 1 damaged place passed over")
	}
}

// TestChunkWithoutChecksumIsReadUpToItsDamage keeps what stands in front of it, and the chunks behind.
func TestChunkWithoutChecksumIsReadUpToItsDamage(t *testing.T) {
	b := build(t).two()
	b.chunk(chunkKind{noCRC: true}, talk(20, 1)...)
	first := len(b.bytes)
	b.chunk(chunkKind{noCRC: true}, talk(20, 500)...)
	b.chunk(chunkKind{noCRC: true}, talk(20, 900)...)
	data := bytes.Clone(b.bytes)
	at := first + bytes.Index(data[first:], []byte("10 of 500"))
	clear(data[at : at+40])
	got, info, _ := payloads(t, data)
	require.Len(t, got, 20+11+20)
	require.Contains(t, info.Damage, "51 messages can be read; the last ")
	require.Contains(t, info.Damage, " in 1 damaged chunk left out")
}

// TestDamagedSummaryWithoutChecksum has a chunk index that leads astray, and nothing that tells so.
func TestDamagedSummaryWithoutChecksum(t *testing.T) {
	b := build(t).two()
	for i := range 4 {
		b.chunk(chunkKind{}, talk(10, uint64(100*i))...)
	}
	end := len(b.bytes)
	data := b.end(summaryKind{noCRC: true})
	at := end + bytes.Index(data[end:], b.indexes[2])
	for field := 9 + 16; field < 9+32; field++ { // offset and length of the third chunk
		damaged := bytes.Clone(data)
		damaged[at+field] ^= 0x04
		got, _, faults := payloads(t, damaged)
		require.Len(t, got, 40, "byte %d", field)
		require.Empty(t, faults)
	}
	// Statistics that can not be right.
	statistics := end + bytes.IndexByte(data[end:], 0x0b)
	damaged := bytes.Clone(data)
	binary.LittleEndian.PutUint64(damaged[statistics+9:], 1<<60)
	got, info, _ := payloads(t, damaged)
	require.Len(t, got, 40)
	require.Equal(t, uint64(40), info.MessageCount)
}

// TestSearchMeetsChunksOfNonsense finds what looks like a chunk without a checksum, but has no records in it.
func TestSearchMeetsChunksOfNonsense(t *testing.T) {
	b := build(t).two().chunk(chunkKind{}, talk(10, 1)...)
	b.add([]byte("no record"), chunkRecord(t, chunkKind{noCRC: true}, 1, 2, []byte("neither is this one")))
	b.chunk(chunkKind{}, talk(10, 100)...)
	got, info, _ := payloads(t, b.bytes)
	require.Len(t, got, 20)
	require.Contains(t, info.Damage, "20 messages can be read")
}
