package mcap

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// foreignFile is a file as other programs write it: ids that begin anywhere, schemas and channels within chunks, channel
// metadata of their own.
func foreignFile(t *testing.T, compression mcaplib.CompressionFormat, messages int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.mcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := mcaplib.NewWriter(file, &mcaplib.WriterOptions{
		Chunked: true, ChunkSize: 1000, Compression: compression, IncludeCRC: true,
	})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "ros2", Library: "other"}))
	require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 7, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data\n")}))
	for i, id := range []uint16{40, 3} {
		require.NoError(t, w.WriteChannel(&mcaplib.Channel{
			ID: id, SchemaID: 7, Topic: fmt.Sprintf("/t%d", i), MessageEncoding: "cdr", Metadata: map[string]string{"own": "key"},
		}))
	}
	for i := range messages {
		require.NoError(t, w.WriteMessage(&mcaplib.Message{
			ChannelID: []uint16{40, 3}[i%2], Sequence: uint32(i), LogTime: uint64(1000 + i), PublishTime: uint64(900 + i),
			Data: fmt.Appendf(nil, "message number %d", i),
		}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	return path
}

func openFile(t *testing.T, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func messagesOf(t *testing.T, r storage.Reader) []storage.Message {
	t.Helper()
	it, err := r.Messages(storage.Query{})
	require.NoError(t, err)
	return storagetest.All(t, it)
}

// copyAll copies every block, with a message of its own before and after.
func copyAll(t *testing.T, from *Reader, check storage.BlockCheck) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.mcap")
	w, err := Create(path, Options{})
	require.NoError(t, err)
	defer w.Close()
	for i, topic := range from.Info().Topics {
		id, err := w.AddTopicOf(from, storage.TopicID(i))
		require.NoError(t, err)
		require.Equal(t, storage.TopicID(i), id)
		again, err := w.AddTopic(topic.Topic)
		require.NoError(t, err)
		require.Equal(t, id, again)
	}
	own, err := w.AddTopic(storagetest.Topic("/own"))
	require.NoError(t, err)
	require.True(t, w.Accepts(from))
	require.NoError(t, w.Write([]storage.Message{{Topic: own, LogTimeNanos: 1, PublishTimeNanos: 1, Data: []byte("first")}}))
	blocks, err := from.Blocks()
	require.NoError(t, err)
	var copied uint64
	for i, block := range blocks {
		require.True(t, block.Whole)
		n, err := w.CopyBlock(from, i, check)
		require.NoError(t, err)
		copied += n
	}
	require.Equal(t, from.Info().MessageCount, copied)
	require.NoError(t, w.Write([]storage.Message{{Topic: own, LogTimeNanos: 1 << 40, PublishTimeNanos: 1, Data: []byte("last")}}))
	require.NoError(t, w.Seal(nil))
	return path
}

func TestCopiedBlocksReadTheSame(t *testing.T) {
	for _, compression := range []mcaplib.CompressionFormat{mcaplib.CompressionNone, mcaplib.CompressionZSTD, mcaplib.CompressionLZ4} {
		for _, check := range []storage.BlockCheck{storage.CheckIndex, storage.CheckContent} {
			from := openFile(t, foreignFile(t, compression, 500))
			blocks, err := from.Blocks()
			require.NoError(t, err)
			require.Greater(t, len(blocks), 5)
			path := copyAll(t, from, check)
			to := openFile(t, path)
			want, got := messagesOf(t, from), messagesOf(t, to)
			require.Len(t, got, 502)
			require.Equal(t, want, got[1:501])
			require.Equal(t, uint64(502), to.Info().MessageCount)
			require.Equal(t, uint64(250), to.Info().Topics[0].MessageCount)

			// Another program finds the same by the summary alone, and by reading from the start.
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			other, err := mcaplib.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			info, err := other.Info()
			require.NoError(t, err)
			require.Equal(t, uint64(502), info.Statistics.MessageCount)
			require.Equal(t, uint32(len(blocks)+2), info.Statistics.ChunkCount)
			require.Equal(t, map[string]string{"own": "key"}, info.Channels[40].Metadata)
			for _, useIndex := range []bool{true, false} {
				other, err := mcaplib.NewReader(bytes.NewReader(data))
				require.NoError(t, err)
				it, err := other.Messages(mcaplib.UsingIndex(useIndex))
				require.NoError(t, err)
				n := 0
				for err == nil {
					_, _, _, err = it.NextInto(nil)
					n++
				}
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, 502+1, n)
			}
		}
	}
}

func TestBlocksOfAnotherDescriptionAreRefused(t *testing.T) {
	from := openFile(t, foreignFile(t, mcaplib.CompressionZSTD, 50))
	w, err := Create(filepath.Join(t.TempDir(), "copy.mcap"), Options{})
	require.NoError(t, err)
	defer w.Close()
	require.False(t, w.Accepts(from))
	_, err = w.CopyBlock(from, 0, storage.CheckIndex)
	require.ErrorIs(t, err, storage.ErrOtherIDs)
	_, err = w.AddTopic(from.Info().Topics[0].Topic) // gets another channel
	require.NoError(t, err)
	_, err = w.AddTopicOf(from, 1)
	require.NoError(t, err)
	require.False(t, w.Accepts(from))
	_, err = w.CopyBlock(from, 99, storage.CheckIndex)
	require.ErrorIs(t, err, storage.ErrOtherIDs)
	require.Zero(t, w.Info().MessageCount)
}

// A chunk that is damaged is not copied, and the file that is written stays whole.
func TestDamagedBlocksAreNotCopied(t *testing.T) {
	for _, test := range []struct {
		name        string
		compression mcaplib.CompressionFormat
		check       storage.BlockCheck
		at          func(chunkRef) int64
	}{
		{"plain records", mcaplib.CompressionNone, storage.CheckIndex, func(c chunkRef) int64 { return c.offset + c.length - 3 }},
		{"packed records", mcaplib.CompressionZSTD, storage.CheckContent, func(c chunkRef) int64 { return c.offset + c.length - 3 }},
		{"offset in index", mcaplib.CompressionZSTD, storage.CheckIndex, func(c chunkRef) int64 { return c.offset + c.length + 9 + 6 + 8 + 5 }},
		{"time in index", mcaplib.CompressionZSTD, storage.CheckIndex, func(c chunkRef) int64 { return c.offset + c.length + 9 + 6 + 5 }},
		{"opcode of index", mcaplib.CompressionZSTD, storage.CheckIndex, func(c chunkRef) int64 { return c.offset + c.length }},
		{"opcode of chunk", mcaplib.CompressionZSTD, storage.CheckIndex, func(c chunkRef) int64 { return c.offset }},
		{"length of chunk", mcaplib.CompressionZSTD, storage.CheckIndex, func(c chunkRef) int64 { return c.offset + 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := foreignFile(t, test.compression, 200)
			whole := openFile(t, path)
			list, err := whole.chunkList()
			require.NoError(t, err)
			second, err := list.chunk(whole.source, 1)
			require.NoError(t, err)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[test.at(second)] ^= 0x55
			broken := filepath.Join(t.TempDir(), "broken.mcap")
			require.NoError(t, os.WriteFile(broken, data, 0o600))
			from := openFile(t, broken)
			w, err := Create(filepath.Join(t.TempDir(), "copy.mcap"), Options{})
			require.NoError(t, err)
			defer w.Close()
			for i := range from.Info().Topics {
				_, err := w.AddTopicOf(from, storage.TopicID(i))
				require.NoError(t, err)
			}
			var corruption *storage.CorruptionError
			_, err = w.CopyBlock(from, 0, test.check)
			require.NoError(t, err)
			count, size := w.Info().MessageCount, w.Size()
			_, err = w.CopyBlock(from, 1, test.check)
			require.ErrorAs(t, err, &corruption)
			require.Equal(t, size, w.Size())
			_, err = w.CopyBlock(from, 2, test.check)
			require.NoError(t, err)
			require.Greater(t, w.Info().MessageCount, count)
			require.NoError(t, w.Seal(nil))
		})
	}
}
