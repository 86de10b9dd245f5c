package bag_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// compressedSize sets how many MB the file has that is compressed while others are written.
const compressedSize = "ROSBAGD_BENCH_COMPRESSED_MB"

// BenchmarkWritingWhileCompressing writes 200 messages a second for as long as a file of the same bag is being
// compressed, and again for as long with nothing else to do. It tells by how much the worst and the 99th of a hundred
// are late, each in ms, with and without.
func BenchmarkWritingWhileCompressing(b *testing.B) {
	size := 100
	if text := os.Getenv(compressedSize); text != "" {
		var err error
		size, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	for b.Loop() {
		path := filepath.Join(memoryDirectory(b), "demo")
		compressed := make(chan struct{})
		w, err := bag.Create(path, bag.WriterOptions{
			CompressionMode: "file", OnSplit: func(string, string) { close(compressed) },
		})
		require.NoError(b, err)
		_, err = w.AddTopic(storagetest.Topic("/a"))
		require.NoError(b, err)
		done := make(chan error, 1)
		go func() { done <- w.Run(context.Background()) }()
		bulk := sized(1000, 1000)
		for n := 0; n < size; n++ {
			require.NoError(b, w.Write(bulk))
		}
		_, _, err = w.Split()
		require.NoError(b, err)
		began := time.Now()
		late := paced(b, w, compressed)
		report(b, late, "while-compressing")
		alone := time.After(time.Since(began))
		ended := make(chan struct{})
		go func() { <-alone; close(ended) }()
		report(b, paced(b, w, ended), "alone")
		require.NoError(b, w.Seal())
		require.NoError(b, <-done)
		m := w.Metadata()
		require.EqualValues(b, 1000*size, m.Files[0].MessageCount)
	}
}

func paced(b *testing.B, w *bag.Writer, until <-chan struct{}) []time.Duration {
	const period = 5 * time.Millisecond
	var late []time.Duration
	for due := time.Now(); ; due = due.Add(period) {
		select {
		case <-until:
			return late
		case <-time.After(time.Until(due)):
		}
		now := time.Now()
		require.NoError(b, w.Write([]storage.Message{{LogTimeNanos: now.UnixNano(), PublishTimeNanos: now.UnixNano(), Data: make([]byte, 100)}}))
		late = append(late, time.Since(due))
	}
}

func report(b *testing.B, late []time.Duration, when string) {
	slices.Sort(late)
	if len(late) == 0 {
		return
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(late[len(late)-1]), "worst-"+when)
	b.ReportMetric(ms(late[len(late)*99/100]), "p99-"+when)
}
