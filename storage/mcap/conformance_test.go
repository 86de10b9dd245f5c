package mcap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// two describes two topics, one of them without a schema.
func (b *builder) two() *builder {
	return b.describe(schemaRecord(1, "std_msgs/msg/String"), channelRecord(1, 1, "/a"), channelRecord(2, 0, "/b"))
}

// talk makes n messages of channels 1 and 2, whose times go up with some noise.
func talk(n int, from uint64) []said {
	messages := make([]said, 0, n)
	for i := range n {
		k := uint64(i)
		messages = append(messages, said{
			channel: uint16(1 + i%2), log: from + 10*k + k*7%13, pub: from + 5*k + k*11%29, data: fmt.Sprintf("%d of %d", i, from),
		})
	}
	return messages
}

func conformingFiles(t testing.TB) map[string][]byte {
	files := map[string][]byte{
		"unchunked":                    build(t).two().bare(talk(50, 1000)...).end(summaryKind{}),
		"unchunked without summary":    build(t).two().bare(talk(50, 1000)...).end(summaryKind{none: true}),
		"unchunked without statistics": build(t).two().bare(talk(50, 1000)...).end(summaryKind{noStatistics: true}),
		"no message at all":            build(t).two().end(summaryKind{}),
		"nothing but a header":         build(t).end(summaryKind{none: true}),
		"empty chunks":                 build(t).two().chunk(chunkKind{}).chunk(chunkKind{}, talk(5, 1000)...).chunk(chunkKind{}).end(summaryKind{}),
		"only empty chunks":            build(t).two().chunk(chunkKind{}).end(summaryKind{}),
		"large message":                build(t).two().chunk(chunkKind{}, talk(5, 1)...).chunk(chunkKind{compression: "zstd"}, said{1, 90, 90, strings.Repeat("large", 1<<19)}).end(summaryKind{}),
		"channels only in chunks": build(t).chunk(chunkKind{inside: [][]byte{schemaRecord(1, "x"), channelRecord(1, 1, "/a"), channelRecord(2, 0, "/b")}},
			talk(10, 1)...).chunk(chunkKind{}, talk(10, 50)...).end(summaryKind{}),
		"channel behind its chunk's first messages": build(t).describe(channelRecord(1, 0, "/a")).chunk(chunkKind{
			inside: [][]byte{said{1, 3, 3, "x"}.record(), channelRecord(2, 0, "/b")},
		}, talk(10, 1)...).end(summaryKind{noStatistics: true, noChannels: true}),
		"unknown records": build(t).add(record1(0x20, []byte("what"))).two().add(record1(0x90)).
			chunk(chunkKind{inside: [][]byte{record1(0x99, []byte("in here"))}, behind: [][]byte{record1(0x42)}}, talk(10, 1)...).
			add(record1(0xff, make([]byte, 3000))).chunk(chunkKind{}, talk(10, 40)...).end(summaryKind{unknown: true}),
		"unknown records, not indexed": build(t).two().chunk(chunkKind{noIndex: true}, talk(10, 1)...).
			add(record1(0xff, make([]byte, 3000))).bare(talk(3, 9)...).add(record1(0x81)).bare(talk(3, 30)...).end(summaryKind{none: true}),
		"in chunks and outside":                 build(t).two().bare(talk(7, 1)...).chunk(chunkKind{}, talk(10, 5)...).bare(talk(3, 2)...).chunk(chunkKind{}, talk(2, 90)...).bare(talk(1, 60)...).end(summaryKind{}),
		"in chunks and outside, no summary":     build(t).two().bare(talk(7, 1)...).chunk(chunkKind{}, talk(10, 5)...).bare(talk(3, 2)...).end(summaryKind{none: true}),
		"channel repeated":                      build(t).two().chunk(chunkKind{inside: [][]byte{channelRecord(1, 1, "/a")}}, talk(9, 1)...).add(channelRecord(2, 0, "/b")).bare(talk(3, 9)...).end(summaryKind{}),
		"two channels of one topic":             build(t).two().describe(channelRecord(9, 1, "/a")).chunk(chunkKind{}, append(talk(9, 1), said{9, 4, 4, "nine"})...).end(summaryKind{}),
		"a chunk the summary does not know":     build(t).two().chunk(chunkKind{}, talk(9, 1)...).chunk(chunkKind{unlisted: true}, talk(9, 30)...).end(summaryKind{}),
		"no chunk index":                        build(t).two().chunk(chunkKind{}, talk(9, 1)...).chunk(chunkKind{}, talk(9, 30)...).end(summaryKind{noChunkIndex: true}),
		"no channels in the summary":            build(t).two().chunk(chunkKind{}, talk(9, 1)...).end(summaryKind{noChannels: true}),
		"no checksum of the summary":            build(t).two().chunk(chunkKind{noCRC: true}, talk(9, 1)...).end(summaryKind{noCRC: true}),
		"metadata, attachments between":         build(t).metadata("x", "k", "v").two().chunk(chunkKind{}, talk(9, 1)...).attachment("a", []byte("data"), true).chunk(chunkKind{}, talk(4, 7)...).metadata("y").end(summaryKind{}),
		"equal times":                           build(t).two().chunk(chunkKind{}, said{1, 5, 5, "a"}, said{2, 5, 5, "b"}).chunk(chunkKind{}, said{2, 5, 5, "c"}, said{1, 5, 5, "d"}, said{1, 4, 9, "e"}).end(summaryKind{}),
		"times at the limits":                   build(t).two().chunk(chunkKind{}, said{1, 0, 0, "a"}, said{2, 1<<63 - 1, 1<<63 - 1, "b"}).chunk(chunkKind{}, said{1, 1<<63 - 1, 0, "c"}, said{1, 0, 1<<63 - 1, "d"}).end(summaryKind{}),
		"a whole file as payload":               build(t).two().chunk(chunkKind{}, said{1, 5, 5, string(build(t).two().chunk(chunkKind{}, talk(9, 1)...).end(summaryKind{}))}).end(summaryKind{none: true}),
		"a whole file as payload, not in chunk": build(t).two().bare(said{1, 5, 5, string(build(t).two().bare(talk(9, 1)...).end(summaryKind{}))}).end(summaryKind{none: true}),
	}
	crc := build(t)
	crc.dataEndCRC = true
	files["checksum of the data section"] = crc.two().chunk(chunkKind{}, talk(10, 1)...).end(summaryKind{})
	longer := build(t)
	longer.extra = []byte("fields of a later version")
	files["longer records"] = longer.two().chunk(chunkKind{}, talk(10, 1)...).chunk(chunkKind{}, talk(10, 1)...).end(summaryKind{})
	longer = build(t)
	longer.extra = []byte("fields of a later version")
	files["longer records, no summary"] = longer.two().chunk(chunkKind{}, talk(10, 1)...).chunk(chunkKind{}, talk(10, 1)...).end(summaryKind{none: true})

	for _, compression := range []string{"", "lz4", "zstd"} {
		for name, kind := range map[string]chunkKind{
			"indexed": {}, "no CRC": {noCRC: true}, "no message index": {noIndex: true}, "no offsets": {noMap: true},
		} {
			for summaryName, summary := range map[string]summaryKind{
				"summary": {}, "reversed summary": {reversed: true}, "no statistics": {noStatistics: true}, "no summary": {none: true},
			} {
				kind.compression = compression
				b := build(t).two()
				for _, from := range []uint64{500, 900, 100, 120, 100, 3000, 130} { // they overlap, and go back
					b.chunk(kind, talk(30, from)...)
				}
				b.chunk(kind, said{1, 200, 200, "of one topic only"})
				files[fmt.Sprintf("%q, %s, %s", compression, name, summaryName)] = b.end(summary)
			}
		}
	}
	// More chunks than a block has, so that several blocks are open at once.
	many := build(t).two()
	for i := range 3*perBlock + 5 {
		many.chunk(chunkKind{}, talk(3, uint64(10_000-i*37%5000))...)
	}
	files["many overlapping chunks"] = many.end(summaryKind{})
	return files
}

// TestConformance compares everything that a reader gives with a plain scan of the whole file.
func TestConformance(t *testing.T) {
	for name, data := range conformingFiles(t) {
		t.Run(name, func(t *testing.T) {
			plain := scanPlainly(t, data)
			r, err := fromBytes(data)
			require.NoError(t, err)
			defer r.Close()
			info := r.Info()
			require.Empty(t, info.Damage)
			require.Equal(t, uint64(len(plain.messages)), info.MessageCount)
			counts := map[string]uint64{}
			for _, topic := range plain.topics {
				counts[topic] = 0
			}
			for i, m := range plain.messages {
				counts[plain.topics[m.channel]]++
				if i == 0 {
					info.StartNanos, info.EndNanos = int64(m.log), int64(m.log)
				}
				info.StartNanos, info.EndNanos = min(info.StartNanos, int64(m.log)), max(info.EndNanos, int64(m.log))
			}
			require.Equal(t, r.Info().StartNanos, info.StartNanos)
			require.Equal(t, r.Info().EndNanos, info.EndNanos)
			for _, topic := range info.Topics {
				require.Equal(t, counts[topic.Name], topic.MessageCount, topic.Name)
			}
			require.Len(t, info.Topics, len(counts))

			queries := []storage.Query{{}, {Topics: []storage.TopicID{}}}
			for id := range info.Topics {
				topics := []storage.TopicID{storage.TopicID(id)}
				queries = append(queries, storage.Query{Topics: topics}, storage.Query{Topics: topics, FromNanos: 110, UntilNanos: 700, HasUntil: true})
			}
			for _, from := range []int64{1, 120, 1000, 2_900} {
				queries = append(queries, storage.Query{FromNanos: from}, storage.Query{FromNanos: from, UntilNanos: from + 100, HasUntil: true},
					storage.Query{UntilNanos: from, HasUntil: true})
			}
			for _, query := range queries {
				for _, query.Order = range []storage.Order{storage.ByLogTime, storage.ByPublishTime, storage.ByFile} {
					got, faults := collect(t, r, query)
					require.Empty(t, faults)
					requireSame(t, plain.answer(info.Topics, query), givenBy(info.Topics, got), "%+v", query)
				}
			}
			topics, streamed, faults := drain(t, bytes.NewReader(data))
			require.Empty(t, faults)
			require.Equal(t, plain.given(), givenBy(topics, streamed))
		})
	}
}

// requireSame is require.Equal for long slices.
func requireSame[T comparable](t *testing.T, want, got []T, message string, arguments ...any) {
	t.Helper()
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, append([]any{message}, arguments...)...)
		require.Len(t, got, len(want)) // one is nil
	}
}

// answer is what a query has to give.
func (s *fullScan) answer(topics []storage.TopicInfo, query storage.Query) []given {
	result := []given{}
	for _, m := range s.given() {
		id := slices.IndexFunc(topics, func(topic storage.TopicInfo) bool { return topic.Name == m.topic })
		if (query.Topics != nil && !slices.Contains(query.Topics, storage.TopicID(id))) || int64(m.log) < query.FromNanos ||
			(query.HasUntil && int64(m.log) > query.UntilNanos) {
			continue
		}
		result = append(result, m)
	}
	switch query.Order {
	case storage.ByLogTime:
		slices.SortStableFunc(result, func(a, b given) int { return cmp.Compare(a.log, b.log) })
	case storage.ByPublishTime:
		slices.SortStableFunc(result, func(a, b given) int { return cmp.Compare(a.pub, b.pub) })
	}
	return result
}

// drain reads a stream to its end.
func drain(t testing.TB, from io.Reader) ([]storage.TopicInfo, []storage.Message, []error) {
	t.Helper()
	s, err := OpenStream("memory", from)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var messages []storage.Message
	var faults []error
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			require.True(t, storage.IsCorruption(err), "%v", err)
			faults = append(faults, err)
			require.Less(t, len(faults), 100_000)
			continue
		}
		require.Less(t, int(m.Topic), len(s.Topics()))
		messages = append(messages, m)
	}
	topics := make([]storage.TopicInfo, 0, len(s.Topics()))
	for _, topic := range s.Topics() {
		topics = append(topics, storage.TopicInfo{Topic: topic})
	}
	return topics, messages, faults
}
