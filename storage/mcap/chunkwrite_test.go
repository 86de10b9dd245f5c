package mcap

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// TestAnyMessagesInAnyPieces writes messages of all sizes, in any batches and with any options: they come back as they
// were, the caller's memory may change after each Write, and nothing is wrong with the file.
func TestAnyMessagesInAnyPieces(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(directory, "x.mcap")
		defer func() { _ = os.Remove(path) }()
		options := Options{
			ChunkSize:     rapid.SampledFrom([]int{1, 200, 5000, 9000, 40_000, 1 << 20}).Draw(rt, "chunkSize"),
			NoChunking:    rapid.Bool().Draw(rt, "noChunking"),
			EnableDataCRC: rapid.Bool().Draw(rt, "enableDataCRC"),
			Compression:   rapid.SampledFrom([]Compression{CompressionNone, CompressionNone, CompressionZstd, CompressionLZ4}).Draw(rt, "compression"),
		}
		w, err := Create(path, options)
		require.NoError(rt, err)
		defer w.Close()
		w.index.most = rapid.SampledFrom([]int{1, 50, maxLog}).Draw(rt, "log")
		w.maxMessage = 100_000
		for _, name := range []string{"/a", "/b", "/c"} {
			_, err := w.AddTopic(storagetest.Topic(name))
			require.NoError(rt, err)
		}
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(3000, 6000), rapid.IntRange(10_000, 110_000))
		var want []storage.Message
		at := int64(1000)
		for range rapid.IntRange(0, 6).Draw(rt, "batches") {
			batch := make([]storage.Message, rapid.IntRange(0, 12).Draw(rt, "batch"))
			kept := make([]storage.Message, 0, len(batch))
			for i := range batch {
				at++
				batch[i] = storage.Message{
					Topic: storage.TopicID(rapid.IntRange(0, 2).Draw(rt, "topic")), Sequence: uint32(at), LogTimeNanos: at,
					PublishTimeNanos: at - 5, Data: bytes.Repeat([]byte{byte(at)}, size.Draw(rt, "size")),
				}
				if len(batch[i].Data) <= w.maxMessage {
					m := batch[i]
					m.Data = bytes.Clone(m.Data)
					kept = append(kept, m)
				}
			}
			err := w.Write(batch)
			if len(kept) < len(batch) {
				require.ErrorIs(rt, err, errTooLarge)
			} else {
				require.NoError(rt, err)
			}
			want = append(want, kept...)
			for i := range batch {
				clear(batch[i].Data)
			}
			if rapid.Bool().Draw(rt, "flush") {
				require.NoError(rt, w.Flush())
			}
		}
		require.NoError(rt, w.Seal(nil))
		data, err := os.ReadFile(path)
		require.NoError(rt, err)
		require.Equal(rt, int64(len(data)), w.Size())
		r, err := fromBytes(data)
		require.NoError(rt, err)
		it, err := r.Messages(storage.Query{})
		require.NoError(rt, err)
		defer it.Close()
		for i := range want {
			got, err := it.Next()
			require.NoError(rt, err)
			require.Equal(rt, want[i].LogTimeNanos, got.LogTimeNanos)
			require.Equal(rt, want[i].Topic, got.Topic)
			require.Equal(rt, want[i].Sequence, got.Sequence)
			require.True(rt, bytes.Equal(want[i].Data, got.Data))
		}
		got := verifyBytes(t, data)
		require.Empty(rt, got.worst(storage.Fault))
		require.Equal(rt, len(want), got.messages)
	})
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left, "the index has no file that stays")
}

// heap is what is in use, without what is garbage.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestIndexOfADayTakesLittleMemory cuts a chunk each second of a day, with a message on each of a hundred channels.
func TestIndexOfADayTakesLittleMemory(t *testing.T) {
	const channels, seconds = 100, 24 * 3600
	directory := t.TempDir()
	w, err := Create(filepath.Join(directory, "x.mcap"), Options{Files: nowhere{}})
	require.NoError(t, err)
	defer w.Close()
	messages := make([]storage.Message, channels)
	for i := range messages {
		id, err := w.AddTopic(storagetest.Topic("/" + strings.Repeat("t", i+1)))
		require.NoError(t, err)
		messages[i] = storage.Message{Topic: id, Data: []byte("12345678")}
	}
	before := heap()
	most := int64(0)
	for second := range seconds {
		for i := range messages {
			messages[i].LogTimeNanos = int64(second)*1e9 + int64(i)
		}
		require.NoError(t, w.Write(messages))
		require.NoError(t, w.Flush())
		if second%(seconds/8) == seconds/8-1 {
			most = max(most, heap()-before)
		}
	}
	require.Equal(t, uint32(seconds), w.index.chunks)
	require.NoError(t, w.Seal(nil))
	most = max(most, heap()-before)
	require.Less(t, most, int64(16<<20), "bytes")
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestMillionsOfTinyChunks: a chunk for each message takes no more memory than any other file.
func TestMillionsOfTinyChunks(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "x.mcap"), Options{ChunkSize: 1, Files: nowhere{}})
	require.NoError(t, err)
	defer w.Close()
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	messages := storagetest.Messages(1000, id)
	before := heap()
	for range 2000 {
		require.NoError(t, w.Write(messages))
	}
	require.Equal(t, uint32(2_000_000), w.index.chunks)
	require.Less(t, heap()-before, int64(16<<20), "bytes")
	require.NoError(t, w.Seal(nil))
}

// TestMessageOverTwoGiB needs no memory for it: nobody looks at its bytes.
func TestMessageOverTwoGiB(t *testing.T) {
	w, path := newWriter(t, Options{})
	messages := storagetest.Messages(3, 0)
	messages[1].Data = make([]byte, 2<<30+1)
	var rejected *storage.RejectedError
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.EqualError(t, rejected, "1 message(s) not written: topic /a: message is larger than 2 GiB")
	require.NoError(t, w.Write(messages[:1]))
	require.NoError(t, w.Seal(nil))
	require.Len(t, messagesOf(t, openFile(t, path)), 3)
}

// TestLargeMessagesLeaveNoMemoryBehind: neither in the chunk nor in the compressor.
func TestLargeMessagesLeaveNoMemoryBehind(t *testing.T) {
	for _, compression := range []Compression{CompressionNone, CompressionZstd, CompressionLZ4} {
		w, _ := newWriter(t, Options{Compression: compression, ForceCompression: true})
		require.NoError(t, w.Write(storagetest.Messages(1000, 0)))
		require.NoError(t, w.Flush())
		data := make([]byte, 64<<20)
		before := heap()
		require.NoError(t, w.Write([]storage.Message{{Data: data}}))
		require.Less(t, heap()-before, int64(20<<20), "bytes with compression %q", compression)
		runtime.KeepAlive(data)
	}
}

func TestVectorsOfAnySize(t *testing.T) {
	var parts [][]byte
	var want []byte
	for i := range 3000 {
		part := bytes.Repeat([]byte{byte(i)}, i%7)
		parts = append(parts, part)
		want = append(want, part...)
	}
	path := filepath.Join(t.TempDir(), "x")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	n, err := writeVector(file, parts)
	require.NoError(t, err)
	require.Equal(t, int64(len(want)), n)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, got)

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	_, err = writeVector(full, [][]byte{want})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "no space left on device")
}
