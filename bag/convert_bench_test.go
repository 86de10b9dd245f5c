package bag

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// benchMessages is how many messages the benchmarks of convert move; CONVERT_MESSAGES sets it.
func benchMessages(b *testing.B) int {
	text := os.Getenv("CONVERT_MESSAGES")
	if text == "" {
		return 500_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

// madeBag writes a bag of n messages of a size on ten topics.
func madeBag(tb testing.TB, path string, n, size int, options WriterOptions) {
	tb.Helper()
	options.FlushAge = time.Hour
	w, err := Create(path, options)
	require.NoError(tb, err)
	for i := range 10 {
		_, err := w.AddTopic(storagetest.Topic(fmt.Sprintf("/topic_%d", i)))
		require.NoError(tb, err)
	}
	data := make([]byte, size)
	batch := make([]storage.Message, 0, 1000)
	for i := range n {
		data[i%size]++
		at := int64(1_700_000_000_000_000_000) + int64(i)*100_000
		batch = append(batch, storage.Message{
			Topic: storage.TopicID(i % 10), Sequence: uint32(i), LogTimeNanos: at, PublishTimeNanos: at - 1000, Data: append([]byte(nil), data...),
		})
		if len(batch) == cap(batch) || i == n-1 {
			require.NoError(tb, w.Write(batch))
			batch = batch[:0]
		}
	}
	require.NoError(tb, w.Seal())
}

func BenchmarkConvert(b *testing.B) {
	n := benchMessages(b)
	everything := func(out *ConvertOutput) { out.Selection = Everything() }
	for _, bench := range []struct {
		name string
		from WriterOptions
		to   func(*ConvertOutput)
	}{
		{"chunks copied", WriterOptions{}, func(*ConvertOutput) {}},
		{"messages", WriterOptions{}, func(o *ConvertOutput) { o.Writer.Preset = "none" }},
		{"messages from zstd_fast", WriterOptions{Preset: "zstd_fast"}, func(o *ConvertOutput) { o.Writer.Preset = "none" }},
		{"messages to zstd_fast", WriterOptions{}, func(o *ConvertOutput) { o.Writer.Preset = "zstd_fast" }},
		{"one topic of ten", WriterOptions{}, func(o *ConvertOutput) { o.Selection = Selection{Topics: []string{"/topic_3"}} }},
		{"to sqlite3", WriterOptions{}, func(o *ConvertOutput) { o.Writer.StorageID = "sqlite3" }},
		{"from sqlite3", WriterOptions{StorageID: "sqlite3"}, func(*ConvertOutput) {}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			directory := b.TempDir()
			in := filepath.Join(directory, "in")
			madeBag(b, in, n, 100, bench.from)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				out := ConvertOutput{Path: filepath.Join(directory, strconv.Itoa(i))}
				everything(&out)
				bench.to(&out)
				_, err := Convert(context.Background(), ConvertOptions{Inputs: []ConvertInput{{Path: in}}, Outputs: []ConvertOutput{out}})
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, os.RemoveAll(out.Path))
				b.StartTimer()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
		})
	}
}
