package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// collect reads everything and counts the damaged parts.
func collect(t testing.TB, r *Reader, q storage.Query) ([]storage.Message, []error) {
	t.Helper()
	it, err := r.Messages(q)
	if err != nil {
		require.True(t, storage.IsCorruption(err), "%v", err)
		return nil, []error{err}
	}
	var messages []storage.Message
	var faults []error
	for {
		m, err := it.Next()
		switch {
		case errors.Is(err, io.EOF):
			return messages, faults
		case err != nil:
			require.True(t, storage.IsCorruption(err), "%v", err)
			faults = append(faults, err)
			require.Less(t, len(faults), 10_000)
		default:
			messages = append(messages, m)
		}
	}
}

// written gives the bytes of a file of several chunks, finished or not, and where each chunk with its indexes ends.
func written(t testing.TB, options Options, seal bool) (data []byte, messages []storage.Message, ends []int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Create(path, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	_, err = w.AddTopic(storage.Topic{Name: "/a", Type: "x_msgs/msg/X", SerializationFormat: "cdr"})
	require.NoError(t, err)
	messages = storagetest.Messages(40, 0)
	for start := 0; start < len(messages); start += 10 {
		require.NoError(t, w.Write(messages[start:start+10]))
		require.NoError(t, w.Flush())
		ends = append(ends, w.Size())
	}
	if seal {
		require.NoError(t, w.Seal([]byte("version: 9")))
	}
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	return data, messages, ends
}

func fromBytes(data []byte) (*Reader, error) {
	return newReader("memory", bytes.NewReader(data), int64(len(data)))
}

// TestEveryTruncation cuts a file at every byte: all chunks that are whole come out.
func TestEveryTruncation(t *testing.T) {
	for _, compression := range []Compression{CompressionNone, CompressionZstd} {
		data, messages, ends := written(t, Options{Compression: compression, ForceCompression: true}, true)
		for cut := 1; cut <= len(data); cut++ {
			r, err := fromBytes(data[:cut])
			require.NoError(t, err, "cut at %d", cut)
			whole := 0
			for _, end := range ends {
				if int64(cut) >= end {
					whole += 10
				}
			}
			got, faults := collect(t, r, storage.Query{})
			require.Empty(t, faults)
			// A chunk is whole before its index is.
			require.GreaterOrEqual(t, len(got), whole, "cut at %d", cut)
			for i := range got {
				require.Equal(t, messages[i], got[i])
			}
			require.Equal(t, uint64(len(got)), r.Info().MessageCount, "cut at %d", cut)
			if cut < len(data) {
				require.NotEmpty(t, r.Info().Damage, "cut at %d", cut)
			}
			require.NoError(t, r.Close())
		}
	}
}

// TestZeroTail is what a loss of power leaves: the size is there, the bytes are not.
func TestZeroTail(t *testing.T) {
	data, messages, ends := written(t, Options{}, false)
	clear(data[ends[1]:])
	r, err := fromBytes(data)
	require.NoError(t, err)
	got, faults := collect(t, r, storage.Query{})
	require.Empty(t, faults)
	require.Equal(t, messages[:20], got)
	require.Contains(t, r.Info().Damage, "unfinished, 20 messages")
}

// TestFlippedBytes damages each byte in turn: never a panic, and what is told as good is what was written.
func TestFlippedBytes(t *testing.T) {
	data, messages, _ := written(t, Options{Compression: CompressionZstd, ForceCompression: true}, true)
	original := map[int64]storage.Message{}
	for _, m := range messages {
		original[m.LogTimeNanos] = m
	}
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x55
		r, err := fromBytes(damaged)
		if err != nil {
			require.ErrorIs(t, err, storage.ErrUnknownFormat)
			require.Less(t, i, 8)
			continue
		}
		got, _ := collect(t, r, storage.Query{})
		for _, m := range got {
			require.Equal(t, original[m.LogTimeNanos].Data, m.Data, "byte %d", i)
		}
		require.NoError(t, r.Close())
	}
}

func TestDamagedChunkCostsThatChunk(t *testing.T) {
	for _, compression := range []Compression{CompressionNone, CompressionZstd, CompressionLZ4} {
		for _, seal := range []bool{true, false} {
			data, messages, ends := written(t, Options{Compression: compression, ForceCompression: true}, seal)
			data[ends[0]+120] ^= 0xff // inside the records of the second chunk
			r, err := fromBytes(data)
			require.NoError(t, err)
			got, faults := collect(t, r, storage.Query{})
			if seal {
				require.Len(t, faults, 1)
				var corruption *storage.CorruptionError
				require.ErrorAs(t, faults[0], &corruption)
				require.Equal(t, ends[0], corruption.Offset)
				require.Empty(t, r.Info().Damage) // nothing of the data was read yet
			} else {
				require.Empty(t, faults) // it is told once
				require.Contains(t, r.Info().Damage, "unfinished and damaged, 30 messages can be read; 1 damaged chunk of ")
			}
			require.Equal(t, append(append([]storage.Message{}, messages[:10]...), messages[20:]...), got)
			require.NoError(t, r.Close())
		}
	}
}

func TestLyingLengthsTakeNoMemory(t *testing.T) {
	data, _, _ := written(t, Options{Compression: CompressionZstd, ForceCompression: true}, false)
	at := bytes.IndexByte(data, byte(mcaplib.OpChunk))
	for at >= 0 && !bytes.Equal(data[at+9+32+4:at+9+32+8], []byte("zstd")) && !bytes.Contains(data[at:at+60], []byte("zstd")) {
		at += 1 + bytes.IndexByte(data[at+1:], byte(mcaplib.OpChunk))
	}
	for _, b := range []byte{0x10, 0x7f, 0xff} {
		damaged := bytes.Clone(data)
		damaged[at+9+16+5] = b // the upper bytes of the unpacked size
		damaged[at+9+16+7] = b
		r, err := fromBytes(damaged)
		require.NoError(t, err)
		got, faults := collect(t, r, storage.Query{})
		require.Len(t, got, 30)
		require.Empty(t, faults)
		require.Contains(t, r.Info().Damage, "1 damaged chunk of ")
		require.NoError(t, r.Close())
	}
}

// library writes with the library of the format's authors: schemas and channels inside chunks, other profile.
func library(t testing.TB, options mcaplib.WriterOptions, finish bool) []byte {
	t.Helper()
	var out bytes.Buffer
	options.ChunkSize = 200
	w, err := mcaplib.NewWriter(&out, &options)
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "x"}))
	require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 7, Name: "a_msgs/msg/A", Encoding: "ros2idl", Data: []byte("x")}))
	require.NoError(t, w.WriteChannel(&mcaplib.Channel{
		ID: 300, SchemaID: 7, Topic: "/a", MessageEncoding: "cdr",
		Metadata: map[string]string{qosKey: "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n"},
	}))
	require.NoError(t, w.WriteChannel(&mcaplib.Channel{ID: 5, Topic: "/json", MessageEncoding: "json"}))
	require.NoError(t, w.WriteMetadata(&mcaplib.Metadata{
		Name: metadataRecord, Metadata: map[string]string{distroKey: "humble"},
	}))
	for i := range 30 {
		channel := uint16(300)
		if i%3 == 0 {
			channel = 5
		}
		require.NoError(t, w.WriteMessage(&mcaplib.Message{
			ChannelID: channel, Sequence: uint32(i), LogTime: uint64(1000 + i*7%13), PublishTime: uint64(i), Data: []byte{byte(i)},
		}))
	}
	if finish {
		require.NoError(t, w.Close())
	}
	return out.Bytes()
}

func TestFilesOfOtherPrograms(t *testing.T) {
	tests := map[string]mcaplib.WriterOptions{
		"plain":            {Chunked: true, IncludeCRC: true},
		"no chunks":        {},
		"no message index": {Chunked: true, SkipMessageIndexing: true},
		"no chunk index":   {Chunked: true, SkipChunkIndex: true},
		"no statistics":    {Chunked: true, SkipStatistics: true},
		"no repeated":      {Chunked: true, SkipRepeatedChannelInfos: true, SkipRepeatedSchemas: true},
		"no summary at all": {
			Chunked: true, SkipStatistics: true, SkipChunkIndex: true, SkipRepeatedChannelInfos: true,
			SkipRepeatedSchemas: true, SkipMetadataIndex: true, SkipAttachmentIndex: true, SkipSummaryOffsets: true,
		},
		"lz4": {Chunked: true, Compression: mcaplib.CompressionLZ4},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := fromBytes(library(t, options, true))
			require.NoError(t, err)
			defer r.Close()
			info := r.Info()
			require.Empty(t, info.Damage)
			require.Equal(t, uint64(30), info.MessageCount)
			require.Equal(t, int64(1000), info.StartNanos)
			require.Equal(t, int64(1012), info.EndNanos)
			require.Equal(t, "humble", info.ROSDistro)
			require.Len(t, info.Topics, 2)
			require.Equal(t, "a_msgs/msg/A", info.Topics[0].Type)
			require.Equal(t, "ros2idl", info.Topics[0].Definition.Encoding)
			require.Len(t, info.Topics[0].OfferedQoS, 1)
			require.Equal(t, uint64(20), info.Topics[0].MessageCount)
			require.Equal(t, "json", info.Topics[1].SerializationFormat)

			byTime, faults := collect(t, r, storage.Query{})
			require.Empty(t, faults)
			require.Len(t, byTime, 30)
			for i := 1; i < len(byTime); i++ {
				before, after := byTime[i-1], byTime[i]
				require.True(t, before.LogTimeNanos < after.LogTimeNanos ||
					before.LogTimeNanos == after.LogTimeNanos && before.Sequence < after.Sequence)
			}
			some, _ := collect(t, r, storage.Query{Topics: []storage.TopicID{1}, FromNanos: 1005, UntilNanos: 1009, HasUntil: true})
			want := 0
			for _, m := range byTime {
				if m.Topic == 1 && m.LogTimeNanos >= 1005 && m.LogTimeNanos <= 1009 {
					require.Equal(t, m, some[want])
					want++
				}
			}
			require.Len(t, some, want)
		})
		t.Run(name+", unfinished", func(t *testing.T) {
			r, err := fromBytes(library(t, options, false))
			require.NoError(t, err)
			defer r.Close()
			got, faults := collect(t, r, storage.Query{})
			require.Empty(t, faults)
			require.Equal(t, uint64(len(got)), r.Info().MessageCount)
			require.Greater(t, len(got), 20)
			require.Contains(t, r.Info().Damage, "unfinished")
		})
	}
}

// TestManyOverlappingChunks has all chunks open at once.
func TestManyOverlappingChunks(t *testing.T) {
	w, path := newWriter(t, Options{})
	const chunks, perChunk = 3 * perBlock, 4
	for i := range chunks {
		messages := storagetest.Messages(perChunk, 0)
		for k := range messages {
			messages[k].LogTimeNanos = int64(1 + k*1000)
			messages[k].Sequence = uint32(i)
		}
		require.NoError(t, w.Write(messages))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Seal(nil))
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	got, faults := collect(t, r, storage.Query{})
	require.Empty(t, faults)
	require.Len(t, got, chunks*perChunk)
	for i, m := range got {
		require.Equal(t, int64(1+i/chunks*1000), m.LogTimeNanos)
		require.Equal(t, uint32(i%chunks), m.Sequence)
	}
}

// counted counts the bytes read.
type counted struct {
	io.ReaderAt
	bytes int64
}

func (c *counted) ReadAt(p []byte, offset int64) (int, error) {
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, offset)
}

func TestSeekAndTopicsReadOnlyWhatTheyNeed(t *testing.T) {
	w, path := newWriter(t, Options{ChunkSize: 10_000})
	_, err := w.AddTopic(storagetest.Topic("/rare"))
	require.NoError(t, err)
	messages := storagetest.Messages(2000, 0)
	for i := range messages {
		messages[i].Data = make([]byte, 1000)
	}
	messages[1500].Topic = 1
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal(nil))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	stat, err := file.Stat()
	require.NoError(t, err)
	source := &counted{ReaderAt: file}
	r, err := newReader(path, source, stat.Size())
	require.NoError(t, err)
	defer r.Close()
	source.bytes = 0
	it, err := r.Messages(storage.Query{FromNanos: messages[1990].LogTimeNanos})
	require.NoError(t, err)
	require.Equal(t, messages[1990:], storagetest.All(t, it))
	require.Less(t, source.bytes, int64(50_000))
	source.bytes = 0
	it, err = r.Messages(storage.Query{Topics: []storage.TopicID{1}})
	require.NoError(t, err)
	require.Equal(t, messages[1500:1501], storagetest.All(t, it))
	require.Less(t, source.bytes, int64(50_000))
}

// TestSeveralIteratorsAtOnce shares a reader whose chunks have yet to be found.
func TestSeveralIteratorsAtOnce(t *testing.T) {
	data := build(t).two().bare(talk(7, 1)...).chunk(chunkKind{compression: "zstd"}, talk(100, 5)...).
		chunk(chunkKind{compression: "lz4"}, talk(100, 50)...).attachment("a", []byte("x"), true).end(summaryKind{})
	r, err := fromBytes(data)
	require.NoError(t, err)
	defer r.Close()
	var group errgroup.Group
	for _, order := range []storage.Order{storage.ByLogTime, storage.ByPublishTime, storage.ByFile} {
		for range 3 {
			group.Go(func() error {
				it, err := r.Messages(storage.Query{Order: order})
				n := 0
				for ; err == nil; n++ {
					_, err = it.Next()
				}
				if !errors.Is(err, io.EOF) || n-1 != 207 {
					return fmt.Errorf("%d messages: %w", n-1, err)
				}
				_ = r.Info()
				return r.Extras(func(storage.Attachment) error { return nil }, func(storage.Record) error { return nil })
			})
		}
	}
	require.NoError(t, group.Wait())
}

func TestDataStaysValid(t *testing.T) {
	data, messages, _ := written(t, Options{Compression: CompressionZstd, ForceCompression: true}, true)
	r, err := fromBytes(data)
	require.NoError(t, err)
	got, _ := collect(t, r, storage.Query{})
	_, _ = collect(t, r, storage.Query{})
	require.NoError(t, r.Close())
	require.Equal(t, messages, got)
}
