package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// verified is what Verify tells of bytes.
type verified struct {
	findings []storage.Finding
	topics   []storage.Topic
	messages int
	bytes    int64
}

func verifyBytes(t testing.TB, data []byte) verified {
	t.Helper()
	var got verified
	err := verifySource(source{path: "x.mcap", file: bytes.NewReader(data), size: int64(len(data))}, got.verification())
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), got.bytes, "progress tells of every byte once: %v", got.findings)
	return got
}

func (v *verified) verification() storage.Verification {
	return storage.Verification{
		Report:   func(f storage.Finding) { v.findings = append(v.findings, f) },
		Topic:    func(topic storage.Topic, _, _ int64) { v.topics = append(v.topics, topic) },
		Message:  func(storage.Message, int64) { v.messages++ },
		Progress: func(n int64) { v.bytes += n },
	}
}

// worst gives the findings of a severity and above.
func (v *verified) worst(least storage.Severity) []storage.Finding {
	var found []storage.Finding
	for _, f := range v.findings {
		if f.Severity >= least {
			found = append(found, f)
		}
	}
	return found
}

// sample is a file of ours with three chunks, two topics and metadata.
func sample(t testing.TB, options Options) []byte {
	t.Helper()
	options.ChunkSize, options.Metadata = 700, []byte("version: 9\n")
	w, path := newWriter(t, options)
	b, err := w.AddTopic(storagetest.Topic("/b"))
	require.NoError(t, err)
	require.NoError(t, w.Write(storagetest.Messages(60, 0, b)))
	require.NoError(t, w.Seal([]byte("version: 9\n")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// recordsOf lists the records of a file that are in no chunk.
func recordsOf(t testing.TB, data []byte) []record {
	t.Helper()
	w := window{source: source{path: "x.mcap", file: bytes.NewReader(data), size: int64(len(data))}}
	var found []record
	for at := int64(len(mcaplib.Magic)); at < int64(len(data)-len(mcaplib.Magic)); {
		rec, err := w.record(at, w.size)
		require.NoError(t, err)
		found = append(found, rec)
		at = rec.end()
	}
	return found
}

// nth gives the place of a record of a kind, counted from 0; negative counts from the end.
func nth(t testing.TB, data []byte, op mcaplib.OpCode, n int) record {
	t.Helper()
	var found []record
	for _, rec := range recordsOf(t, data) {
		if rec.op == op {
			found = append(found, rec)
		}
	}
	if n < 0 {
		n += len(found)
	}
	require.Less(t, n, len(found), "records of type %d", op)
	return found[n]
}

func TestVerifyFindsNothingInFilesOfOurs(t *testing.T) {
	for name, options := range map[string]Options{
		"plain": {}, "zstd": {Compression: CompressionZstd}, "lz4": {Compression: CompressionLZ4}, "without checksums": {NoChunkCRC: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := verifyBytes(t, sample(t, options))
			require.Empty(t, got.findings)
			require.Equal(t, 60, got.messages)
			require.Len(t, got.topics, 2)
		})
	}
	t.Run("nothing written", func(t *testing.T) {
		w, path := newWriter(t, Options{})
		require.NoError(t, w.Seal(nil))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, verifyBytes(t, data).findings)
	})
}

func TestVerifyFindsNoFaultInFilesOfRosbag2(t *testing.T) {
	paths, err := filepath.Glob("../../bag/testdata/rosbag2/*/*.mcap")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			got := verifyBytes(t, data)
			if len(data) == 0 { // killed before its first byte
				require.Len(t, got.worst(storage.Damage), 1)
				return
			}
			require.Empty(t, got.worst(storage.Fault))
			require.NotZero(t, got.messages)
		})
	}
}

// TestVerifyNamesWhatIsWrong breaks one structure each.
func TestVerifyNamesWhatIsWrong(t *testing.T) {
	whole := sample(t, Options{})
	flip := func(at int64) func([]byte) []byte {
		return func(data []byte) []byte { data[at] ^= 0xff; return data }
	}
	put64 := func(at int64, value uint64) func([]byte) []byte {
		return func(data []byte) []byte { binary.LittleEndian.PutUint64(data[at:], value); return data }
	}
	get64 := func(at int64) uint64 { return binary.LittleEndian.Uint64(whole[at:]) }
	chunk, index := nth(t, whole, mcaplib.OpChunk, 1), nth(t, whole, mcaplib.OpMessageIndex, 3)
	channel := nth(t, whole, mcaplib.OpChannel, 0)
	statistics, chunkIndex := nth(t, whole, mcaplib.OpStatistics, 0), nth(t, whole, mcaplib.OpChunkIndex, 1)
	footer, offset := nth(t, whole, mcaplib.OpFooter, 0), nth(t, whole, mcaplib.OpSummaryOffset, 0)
	metadata, dataEnd := nth(t, whole, mcaplib.OpMetadataIndex, 0), nth(t, whole, mcaplib.OpDataEnd, 0)
	entry := index.body() + 6
	for name, c := range map[string]struct {
		change   func([]byte) []byte
		severity storage.Severity
		at       int64
		words    string
		alone    bool // nothing else is found, but that the summary's checksum tells
	}{
		"chunk's content":  {flip(chunk.end() - 1), storage.Damage, chunk.offset, "chunk: checksum does not match", false},
		"chunk's checksum": {flip(chunk.body() + 24), storage.Damage, chunk.offset, "chunk: checksum does not match", false},
		"chunk's times": {
			put64(chunk.body(), get64(chunk.body())-1), storage.Fault, chunk.offset, "chunk: says from", false,
		},
		"chunk's compression": {flip(chunk.body() + 28), storage.Damage, chunk.offset, "chunk: ", false},
		"message index's place": {
			put64(entry+8, get64(entry+8)+1), storage.Fault, entry, "no message of it begins at byte", true,
		},
		"message index's time": {put64(entry, get64(entry)+1), storage.Fault, entry, "ns of the message at byte", true},
		"message index of another channel": {
			flip(index.body()), storage.Fault, chunk.offset, "no message index of channel", false,
		},
		"message index is short": {
			func(data []byte) []byte { data[index.body()+2] -= 16; return data }, storage.Fault, index.offset, "messages in the chunk at byte", true,
		},
		"chunk index's place": {
			put64(chunkIndex.body()+16, uint64(chunk.offset+1)), storage.Fault, chunkIndex.offset, "no chunk begins at byte", true,
		},
		"chunk index's time": {
			put64(chunkIndex.body()+8, get64(chunkIndex.body()+8)+1), storage.Fault, chunkIndex.offset, "chunk index: says from", true,
		},
		"chunk index's message index": {
			put64(chunkIndex.body()+38, get64(chunkIndex.body()+38)+1), storage.Fault, chunkIndex.offset, "does not tell the message index at byte", true,
		},
		"statistics' messages":      {put64(statistics.body(), 61), storage.Fault, statistics.offset, "statistics: 61 messages, the file has 60", true},
		"statistics' end":           {put64(statistics.body()+34, 1), storage.Fault, statistics.offset, "statistics: messages from", true},
		"statistics' channels":      {put64(statistics.body()+8, 9), storage.Fault, statistics.offset, "statistics: 9 schemas", false},
		"statistics' channel count": {put64(statistics.body()+48, 29), storage.Fault, statistics.offset, "29 messages of channel 1 (topic /a)", true},
		"metadata index":            {flip(metadata.body()), storage.Fault, metadata.offset, "metadata index: no metadata record begins", true},
		"summary offset":            {flip(offset.body() + 1), storage.Fault, offset.offset, "summary offset: no records", false},
		"summary's checksum":        {flip(footer.body() + 16), storage.Fault, footer.offset, "footer: checksum does not match that of the summary", true},
		"summary's start":           {put64(footer.body(), get64(footer.body())+1), storage.Fault, footer.offset, "footer: the summary begins at byte", false},
		"summary's start, far out":  {put64(footer.body(), 1<<40), storage.Fault, footer.offset, "the summary can not begin", false},
		"data section's checksum": {
			func(data []byte) []byte { data[dataEnd.body()] = 1; return data }, storage.Damage, dataEnd.offset, "data end: checksum", true,
		},
		"channel left out": {
			func(data []byte) []byte { data[channel.offset] = 0x80; return data }, storage.Damage, nth(t, whole, mcaplib.OpChunk, 0).offset,
			"message of channel 1, which is not described", false,
		},
		"channel of no schema": {
			func(data []byte) []byte { data[channel.body()+2] = 9; return data }, storage.Fault, channel.offset, "names schema 9", false,
		},
		"record's length": {flip(chunk.offset + 7), storage.Damage, chunk.offset, "bytes can not be read", false},
		"no record": {
			func(data []byte) []byte { clear(data[chunk.offset : chunk.offset+100]); return data }, storage.Damage, chunk.offset, "no record begins here", false,
		},
		"end is missing": {
			func(data []byte) []byte { return data[:chunk.offset] }, storage.Damage, chunk.offset, "unfinished", true,
		},
		"cut within a chunk": {
			func(data []byte) []byte { return data[:chunk.offset+50] }, storage.Damage, chunk.offset, "unfinished or cut off", true,
		},
		"cut within the summary": {
			func(data []byte) []byte { return data[:statistics.offset+20] }, storage.Damage, statistics.offset, "unfinished or cut off", true,
		},
		"cut within the footer": {
			func(data []byte) []byte { return data[:len(data)-5] }, storage.Damage, footer.end(), "magic bytes", true,
		},
		"something behind it": {
			func(data []byte) []byte { return append(data, "more"...) }, storage.Fault, int64(len(whole)), "4 bytes follow", true,
		},
		"first byte": {flip(0), storage.Damage, 0, "magic bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := verifyBytes(t, c.change(bytes.Clone(whole)))
			faults := got.worst(storage.Fault)
			found := false
			for _, f := range faults {
				if f.Offset == c.at && f.Severity == c.severity && strings.Contains(f.Text, c.words) {
					found = true
				}
				require.Equal(t, "x.mcap", f.Path)
			}
			require.True(t, found, "%d, %q not in %v", c.at, c.words, faults)
			if c.alone {
				others := 0
				for _, f := range faults {
					if !strings.Contains(f.Text, "that of the summary") && f.Offset != c.at {
						others++
					}
				}
				require.Zero(t, others, "%v", faults)
			}
		})
	}
}

// TestVerifyGoesOnBehindDamage: one chunk of three is lost, the messages of the others are told.
func TestVerifyGoesOnBehindDamage(t *testing.T) {
	whole := sample(t, Options{})
	all := verifyBytes(t, whole).messages
	chunk, next := nth(t, whole, mcaplib.OpChunk, 1), nth(t, whole, mcaplib.OpChunk, 2)
	clear(whole[chunk.offset:next.offset])
	got := verifyBytes(t, whole)
	require.Contains(t, got.findings[0].Text, fmt.Sprintf("%d bytes can not be read", next.offset-chunk.offset))
	require.Greater(t, got.messages, all/3)
	require.Less(t, got.messages, all)
}

// TestVerifyChecksWhatOnlyOthersWrite: attachments, a checksum of the data, records without chunks, by the library.
func TestVerifyChecksWhatOnlyOthersWrite(t *testing.T) {
	build := func(options mcaplib.WriterOptions) []byte {
		var out bytes.Buffer
		w, err := mcaplib.NewWriter(&out, &options)
		require.NoError(t, err)
		require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "ros1"}))
		require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 1, Name: "std_msgs/msg/Empty", Encoding: "ros2msg"}))
		require.NoError(t, w.WriteChannel(&mcaplib.Channel{ID: 3, SchemaID: 1, Topic: "/e", MessageEncoding: "cdr"}))
		for _, time := range []uint64{7, 5, 9} {
			require.NoError(t, w.WriteMessage(&mcaplib.Message{ChannelID: 3, LogTime: time, PublishTime: time, Data: []byte{0, 1, 0, 0}}))
		}
		require.NoError(t, w.WriteAttachment(&mcaplib.Attachment{
			LogTime: 1, Name: "map.png", MediaType: "image/png", DataSize: 200_000, Data: bytes.NewReader(make([]byte, 200_000)),
		}))
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	chunked := build(mcaplib.WriterOptions{Chunked: true, ChunkSize: 100, IncludeCRC: true, Compression: mcaplib.CompressionLZ4})
	bare := build(mcaplib.WriterOptions{IncludeCRC: true})
	bareMost := build(mcaplib.WriterOptions{SkipStatistics: true, SkipSummaryOffsets: true, SkipRepeatedChannelInfos: true, SkipRepeatedSchemas: true})
	for _, data := range [][]byte{chunked, bare, bareMost} {
		got := verifyBytes(t, data)
		require.Empty(t, got.worst(storage.Fault))
		require.Equal(t, 3, got.messages)
		require.Contains(t, fmt.Sprint(got.findings), `profile is "ros1"`)
		require.Contains(t, fmt.Sprint(got.findings), "1 messages stand behind a later one")
	}
	require.Contains(t, fmt.Sprint(verifyBytes(t, bare).findings), "3 messages are in no chunk")

	attachment := nth(t, chunked, mcaplib.OpAttachment, 0)
	index := nth(t, chunked, mcaplib.OpAttachmentIndex, 0)
	broken := bytes.Clone(chunked)
	broken[attachment.end()-100] ^= 1
	faults := verifyBytes(t, broken)
	require.Equal(t, attachment.offset, faults.worst(storage.Damage)[0].Offset)
	require.Contains(t, faults.worst(storage.Damage)[0].Text, `attachment "map.png": checksum`)
	broken = bytes.Clone(chunked)
	broken[index.end()-1] ^= 1
	faults = verifyBytes(t, broken)
	require.Equal(t, index.offset, faults.worst(storage.Fault)[0].Offset)

	message := nth(t, bare, mcaplib.OpMessage, 1)
	dataEnd := nth(t, bare, mcaplib.OpDataEnd, 0)
	broken = bytes.Clone(bare)
	broken[message.end()-1] ^= 1
	faults = verifyBytes(t, broken)
	require.Equal(t, dataEnd.offset, faults.worst(storage.Damage)[0].Offset)
}

func FuzzVerify(f *testing.F) {
	f.Add(sample(f, Options{}))
	f.Add(sample(f, Options{Compression: CompressionZstd}))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) { verifyBytes(t, data) })
}

func BenchmarkVerify(b *testing.B) {
	w, path := newWriter(b, Options{})
	batch := storagetest.Messages(1000, 0, 0)
	for i := range batch {
		batch[i].Data = make([]byte, 10_000)
	}
	for range 10 {
		require.NoError(b, w.Write(batch))
	}
	require.NoError(b, w.Seal(nil))
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		var got verified
		require.NoError(b, verify(path, got.verification()))
		require.Empty(b, got.findings[min(1, len(got.findings)):])
	}
}

// TestVerifyGoesOnBehindDamageAsTheReaderDoes loses pages of files that tell of no chunk at their end: Verify meets the
// messages that the Reader gives, no more and no less.
func TestVerifyGoesOnBehindDamageAsTheReaderDoes(t *testing.T) {
	bare := build(t).two().bare(long(200, 1)...)
	files := map[string][]byte{
		"unfinished":                recorded(t, Options{}, false),
		"unfinished, compressed":    recorded(t, Options{Compression: CompressionZstd, ForceCompression: true}, false),
		"without chunks":            bytes.Clone(bare.end(summaryKind{})),
		"without chunks or summary": build(t).two().bare(long(200, 1)...).end(summaryKind{none: true}),
	}
	random := rand.New(rand.NewPCG(3, 4))
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			lossy := 0
			for range 30 {
				damaged := bytes.Clone(data)
				pages := (len(data) - 1) / page
				for range 1 + random.IntN(3) {
					at := page * (1 + random.IntN(pages-2)) // neither the descriptions nor the end
					clear(damaged[at : at+page])
				}
				want, info, _ := payloads(t, damaged)
				got := verifyBytes(t, damaged)
				require.Equal(t, len(want), got.messages, "%s\n%v", info.Damage, got.findings)
				if whole, _, _ := payloads(t, data); len(want) < len(whole) {
					lossy++
					require.NotEmpty(t, got.worst(storage.Damage))
				}
			}
			require.NotZero(t, lossy)
		})
	}
}
