package bag_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// BenchmarkRepair writes a file of 256 MiB anew that lacks its end: reading and checking all of it, and writing it.
func BenchmarkRepair(b *testing.B) {
	for _, preset := range []string{"none", "zstd_fast"} {
		b.Run(preset, func(b *testing.B) {
			source := filepath.Join(b.TempDir(), "demo_0.mcap")
			writeLarge(b, source, preset)
			stat, err := os.Stat(source)
			require.NoError(b, err)
			require.NoError(b, os.Truncate(source, stat.Size()-10))
			b.SetBytes(256 << 20)
			for b.Loop() {
				b.StopTimer()
				directory := b.TempDir()
				require.NoError(b, os.Link(source, filepath.Join(directory, "demo_0.mcap")))
				b.StartTimer()
				result, err := bag.Reindex(context.Background(), directory, bag.ReindexOptions{Repair: true})
				require.NoError(b, err)
				require.Len(b, result.Repaired, 1)
				b.StopTimer()
				require.NoError(b, os.RemoveAll(directory))
				b.StartTimer()
			}
		})
	}
}

// writeLarge writes 256 MiB in messages of 16 KiB, half of which compress.
func writeLarge(b *testing.B, path, preset string) {
	b.Helper()
	format, err := formats.Lookup("mcap")
	require.NoError(b, err)
	w, err := format.Create(path, storage.CreateOptions{Preset: preset})
	require.NoError(b, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(b, err)
	payload := make([]byte, 16<<10)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range payload[:len(payload)/2] {
		payload[i] = byte(noise.Uint32())
	}
	for i, m := range storagetest.Messages(16<<10, 0) {
		payload[i%len(payload)]++
		m.Data = payload
		require.NoError(b, w.Write([]storage.Message{m}))
	}
	require.NoError(b, w.Seal(nil))
}
