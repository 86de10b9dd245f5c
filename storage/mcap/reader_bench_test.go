package mcap

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// readBenchFile makes a file of some 200 MB with payloads of one size, half of which can be compressed.
func readBenchFile(b *testing.B, size int, options Options) (path string, messages int) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "x.mcap")
	w, err := Create(path, options)
	require.NoError(b, err)
	defer w.Close()
	for i := range 10 {
		_, err = w.AddTopic(storagetest.Topic(fmt.Sprintf("/topic_%d", i)))
		require.NoError(b, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	payload := make([]byte, size+64)
	for i := range payload[:len(payload)/2] {
		payload[i] = byte(random.Uint32())
	}
	messages = 200_000_000 / (size + 100)
	batch := make([]storage.Message, 0, 100)
	for i := range messages {
		batch = append(batch, storage.Message{
			Topic: storage.TopicID(i % 10), LogTimeNanos: int64(1_000_000 + i*1000), PublishTimeNanos: int64(1_000_000 + i*1000 - 300),
			Data: payload[i%64:][:size],
		})
		if len(batch) == cap(batch) || i == messages-1 {
			require.NoError(b, w.Write(batch))
			batch = batch[:0]
		}
	}
	require.NoError(b, w.Seal(nil))
	return path, messages
}

// perMessage reports how many messages a second were read, and what one took of the processor: that tells more on a
// machine that others use too.
func perMessage(b *testing.B, messages int, before time.Duration) {
	all := float64(messages) * float64(b.N)
	b.ReportMetric(all/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(float64(processorTime(b)-before)/all, "cpu-ns/msg")
}

func processorTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkRead reads files in pairs: the bytes with read(2) alone, and the messages in them.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		path, messages := readBenchFile(b, size, Options{})
		stat, err := os.Stat(path)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("%dB/read(2)", size), func(b *testing.B) {
			b.SetBytes(stat.Size())
			buffer := make([]byte, 1<<20)
			before := processorTime(b)
			for b.Loop() {
				file, err := os.Open(path)
				require.NoError(b, err)
				for {
					if _, err := file.Read(buffer); err != nil {
						require.ErrorIs(b, err, io.EOF)
						break
					}
				}
				require.NoError(b, file.Close())
			}
			perMessage(b, messages, before)
		})
		for name, query := range map[string]storage.Query{
			"log time": {}, "file order": {Order: storage.ByFile}, "publish time": {Order: storage.ByPublishTime},
		} {
			b.Run(fmt.Sprintf("%dB/%s", size, name), func(b *testing.B) {
				b.SetBytes(stat.Size())
				b.ReportAllocs()
				before := processorTime(b)
				for b.Loop() {
					require.Equal(b, messages, readAll(b, path, query))
				}
				perMessage(b, messages, before)
			})
		}
		b.Run(fmt.Sprintf("%dB/stream", size), func(b *testing.B) {
			b.SetBytes(stat.Size())
			before := processorTime(b)
			for b.Loop() {
				file, err := os.Open(path)
				require.NoError(b, err)
				s, err := OpenStream(path, file)
				require.NoError(b, err)
				n := 0
				for ; err == nil; n++ {
					_, err = s.Next()
				}
				require.ErrorIs(b, err, io.EOF)
				require.Equal(b, messages, n-1)
				require.NoError(b, errors.Join(s.Close(), file.Close()))
			}
			perMessage(b, messages, before)
		})
	}
}

func readAll(b *testing.B, path string, query storage.Query) int {
	r, err := Open(path)
	require.NoError(b, err)
	it, err := r.Messages(query)
	require.NoError(b, err)
	n := 0
	for ; err == nil; n++ {
		_, err = it.Next()
	}
	require.ErrorIs(b, err, io.EOF)
	require.NoError(b, errors.Join(it.Close(), r.Close()))
	return n - 1
}

// BenchmarkReadZstd compares reading a compressed file with the decompressor alone, on the same chunks.
func BenchmarkReadZstd(b *testing.B) {
	path, messages := readBenchFile(b, 1000, Options{Compression: CompressionZstd, ForceCompression: true})
	r, err := Open(path)
	require.NoError(b, err)
	defer r.Close()
	list, err := r.chunkList()
	require.NoError(b, err)
	var stored [][]byte
	var sizes []int
	total := 0
	for ref, err := range list.all(r.source) {
		require.NoError(b, err)
		raw, err := r.slice(ref.offset+recordHeaderLen, ref.length-recordHeaderLen)
		require.NoError(b, err)
		head, err := parseChunkHead(raw)
		require.NoError(b, err)
		stored = append(stored, raw[head.headLen:])
		sizes = append(sizes, int(head.uncompressed))
		total += int(head.uncompressed)
	}
	b.Run("decompressor", func(b *testing.B) {
		b.SetBytes(int64(total))
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		require.NoError(b, err)
		defer decoder.Close()
		for b.Loop() {
			for i, chunk := range stored {
				_, err := decoder.DecodeAll(chunk, make([]byte, 0, sizes[i]))
				require.NoError(b, err)
			}
		}
	})
	b.Run("messages", func(b *testing.B) {
		b.SetBytes(int64(total))
		before := processorTime(b)
		for b.Loop() {
			require.Equal(b, messages, readAll(b, path, storage.Query{}))
		}
		perMessage(b, messages, before)
	})
}

// BenchmarkLargeFile opens a file of 10 GB, which is made while it is read, and looks for messages in it.
func BenchmarkLargeFile(b *testing.B) {
	g := newGiant(b, 10<<30, 10, 104_000, true)
	b.Run("open and first message", func(b *testing.B) {
		for b.Loop() {
			r, err := newReader("giant", g, g.size())
			require.NoError(b, err)
			firstMessage(b, r, storage.Query{})
			require.NoError(b, r.Close())
		}
	})
	for name, order := range map[string]storage.Order{"log time": storage.ByLogTime, "publish time": storage.ByPublishTime} {
		b.Run("seek by "+name, func(b *testing.B) {
			r, err := newReader("giant", g, g.size())
			require.NoError(b, err)
			defer r.Close()
			random := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				firstMessage(b, r, storage.Query{FromNanos: giantStart + random.Int64N(g.chunks)*giantStep, Order: order})
			}
		})
	}
	b.Run("unfinished, open and first message", func(b *testing.B) {
		g := newGiant(b, 10<<30, 10, 104_000, false)
		for b.Loop() {
			r, err := newReader("giant", g, g.size())
			require.NoError(b, err)
			firstMessage(b, r, storage.Query{})
			require.NoError(b, r.Close())
		}
	})
}

func firstMessage(b *testing.B, r *Reader, query storage.Query) {
	it, err := r.Messages(query)
	require.NoError(b, err)
	_, err = it.Next()
	require.NoError(b, err)
	require.NoError(b, it.Close())
}
