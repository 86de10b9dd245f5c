package sqlite3

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// BenchmarkWrite gives rows a second at the sizes of docs/benchmarks.md.
func BenchmarkWrite(b *testing.B) {
	for _, preset := range Format().Presets {
		for _, size := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", preset, size), func(b *testing.B) { benchmarkWrite(b, preset, size) })
		}
	}
}

func benchmarkWrite(b *testing.B, preset string, size int) {
	const batchBytes = 1 << 20
	batch := storagetest.Messages(max(1, batchBytes/size), 0)
	payload := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, size/10)
	for i := range batch {
		batch[i].Data = payload
	}
	path := filepath.Join(b.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{Preset: preset})
	require.NoError(b, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(b, err)
	b.SetBytes(int64(size * len(batch)))
	rows := 0
	for b.Loop() {
		require.NoError(b, w.Write(batch))
		require.NoError(b, w.Flush())
		rows += len(batch)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	require.NoError(b, w.Seal(nil))
	require.NoError(b, os.Remove(path))
}
