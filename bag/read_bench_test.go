package bag_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// The sizes of the benchmarks: how many files, and how many MiB each. A bag for them is made anew each time; where it is
// made is $TMPDIR's affair.
const (
	benchFilesVariable    = "ROSBAGD_BENCH_FILES"     // 100
	benchFileSizeVariable = "ROSBAGD_BENCH_FILE_MIB"  // 1; 100 for the figures in the documentation
	benchPackedVariable   = "ROSBAGD_BENCH_ZSTD_MIB"  // 64; 2048 for the figures in the documentation
	benchFormatsVariable  = "ROSBAGD_BENCH_EXTENSION" // .mcap; .db3 is the other one
)

func benchSize(b *testing.B, variable string, otherwise int) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

// benchBag has a message of 10 KB each millisecond on one topic, and one of 100 bytes each hundredth on another.
func benchBag(b *testing.B, files, fileMiB int) string {
	b.Helper()
	extension := ".mcap"
	if text := os.Getenv(benchFormatsVariable); text != "" {
		extension = text
	}
	directory := filepath.Join(b.TempDir(), "x")
	require.NoError(b, os.Mkdir(directory, 0o700))
	source := make([]byte, 16<<20) // more than a compressor looks back
	random := rand.New(rand.NewPCG(3, 4))
	for i := range source {
		source[i] = byte(random.IntN(40)) // compresses to two thirds
	}
	const payloadLen = 10_000
	var now int64
	for n := range files {
		id := map[string]string{".mcap": "mcap", ".db3": "sqlite3"}[extension]
		format, err := formats.Lookup(id)
		require.NoError(b, err)
		w, err := format.Create(filepath.Join(directory, fmt.Sprintf("x_%d%s", n, extension)), storage.CreateOptions{})
		require.NoError(b, err)
		for _, name := range []string{"/a", "/b"} {
			_, err := w.AddTopic(storagetest.Topic(name))
			require.NoError(b, err)
		}
		for range fileMiB << 20 / payloadLen {
			now++
			from := now * payloadLen % int64(len(source)-payloadLen)
			payload := source[from : from+payloadLen]
			messages := []storage.Message{{Topic: 0, LogTimeNanos: 1e18 + now*1e6, PublishTimeNanos: 1e18 + now*1e6, Data: payload}}
			if now%100 == 1 {
				messages = append(messages, storage.Message{Topic: 1, LogTimeNanos: 1e18 + now*1e6, PublishTimeNanos: 1e18 + now*1e6, Data: payload[:100]})
			}
			require.NoError(b, w.Write(messages))
		}
		require.NoError(b, w.Seal(nil))
		require.NoError(b, w.Close())
	}
	describeFiles(b, directory)
	return directory
}

func first(b *testing.B, r *bag.Reader, query bag.Query) storage.Message {
	b.Helper()
	it, err := r.Messages(query)
	require.NoError(b, err)
	m, err := it.Next()
	require.NoError(b, err)
	require.NoError(b, it.Close())
	return m
}

// BenchmarkOpenAndSeek measures what a player does first: to open a bag and get a message, from the start or from
// somewhere; and a seek in a bag that is open.
func BenchmarkOpenAndSeek(b *testing.B) {
	files, size := benchSize(b, benchFilesVariable, 100), benchSize(b, benchFileSizeVariable, 1)
	directory := benchBag(b, files, size)
	r, err := bag.Open(directory, bag.ReaderOptions{})
	require.NoError(b, err)
	m := r.Metadata()
	require.NoError(b, r.Close())
	random := rand.New(rand.NewPCG(1, 2))
	somewhere := func() bag.Query {
		return bag.Query{Query: storage.Query{FromNanos: m.StartNanos + random.Int64N(int64(m.Duration)-1e8), Topics: []storage.TopicID{1}}}
	}
	open := func(b *testing.B, check bool) *bag.Reader {
		b.Helper()
		r, err := bag.Open(directory, bag.ReaderOptions{})
		require.NoError(b, err)
		if check {
			r.CheckFiles()
		}
		return r
	}
	b.Run("open and first", func(b *testing.B) {
		for b.Loop() {
			r := open(b, false)
			first(b, r, bag.Query{})
			require.NoError(b, r.Close())
		}
	})
	b.Run("open, check and first", func(b *testing.B) {
		for b.Loop() {
			r := open(b, true)
			first(b, r, bag.Query{})
			require.NoError(b, r.Close())
		}
	})
	b.Run("open and seek", func(b *testing.B) {
		for b.Loop() {
			r := open(b, false)
			first(b, r, somewhere())
			require.NoError(b, r.Close())
		}
	})
	b.Run("seek", func(b *testing.B) {
		r := open(b, false)
		for b.Loop() {
			first(b, r, somewhere())
		}
		require.NoError(b, r.Close())
	})
	require.NoError(b, os.Remove(filepath.Join(directory, bag.MetadataName)))
	b.Run("open without metadata and first", func(b *testing.B) {
		for b.Loop() {
			r := open(b, false)
			first(b, r, bag.Query{})
			require.NoError(b, r.Close())
		}
	})
}

// BenchmarkRead goes through all files: what the merge costs.
func BenchmarkRead(b *testing.B) {
	directory := benchBag(b, 8, benchSize(b, benchFileSizeVariable, 1))
	for _, order := range []storage.Order{storage.ByFile, storage.ByLogTime} {
		b.Run([]string{"by log time", "by publish time", "by file"}[order], func(b *testing.B) {
			var bytes int64
			for b.Loop() {
				r, err := bag.Open(directory, bag.ReaderOptions{})
				require.NoError(b, err)
				it, err := r.Messages(bag.Query{Query: storage.Query{Order: order}})
				require.NoError(b, err)
				bytes = 0
				for {
					m, err := it.Next()
					if err != nil {
						break
					}
					bytes += int64(len(m.Data))
				}
				require.NoError(b, it.Close())
				require.NoError(b, r.Close())
			}
			b.SetBytes(bytes)
		})
	}
}

// BenchmarkFirstOfCompressedFile opens a compressed MCAP file that was never unpacked, for its first message.
func BenchmarkFirstOfCompressedFile(b *testing.B) {
	directory := benchBag(b, 1, benchSize(b, benchPackedVariable, 64))
	path := filepath.Join(directory, "x_0.mcap")
	source, err := os.Open(path)
	require.NoError(b, err)
	target, err := os.Create(path + ".zstd")
	require.NoError(b, err)
	encoder, err := zstd.NewWriter(target, zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(b, err)
	_, err = encoder.ReadFrom(source)
	require.NoError(b, err)
	require.NoError(b, encoder.Close())
	require.NoError(b, target.Close())
	require.NoError(b, source.Close())
	require.NoError(b, os.Remove(path))
	for b.Loop() {
		b.StopTimer()
		cache := b.TempDir()
		b.StartTimer()
		r, err := bag.Open(directory, bag.ReaderOptions{Unpack: bag.UnpackOptions{Directory: cache}})
		require.NoError(b, err)
		it, err := r.Messages(bag.Query{})
		require.NoError(b, err)
		_, err = it.Next()
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, it.Close())
		require.NoError(b, r.Close())
		b.StartTimer()
	}
}
