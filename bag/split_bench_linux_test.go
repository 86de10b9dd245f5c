package bag_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/bag"
	"rosbagd/storage/storagetest"
)

// BenchmarkSplitLimits writes a million messages in tens without and with a limit in turn, which is not reached, and
// tells what the limits cost in time of the processor: the median of the pairs, without the first.
func BenchmarkSplitLimits(b *testing.B) {
	const messages = 1_000_000
	for name, limits := range map[string]bag.WriterOptions{
		"size":     {MaxSize: 1 << 40},
		"duration": {MaxDuration: time.Hour},
		"both":     {MaxSize: 1 << 40, MaxDuration: time.Hour},
	} {
		b.Run(name, func(b *testing.B) {
			const batch = 10
			all := storagetest.Messages(batch, 0)
			for i := range all {
				all[i].Data = make([]byte, 100)
			}
			write := func(options bag.WriterOptions) time.Duration {
				path := filepath.Join(memoryDirectory(b), "demo")
				w, err := bag.Create(path, options)
				require.NoError(b, err)
				_, err = w.AddTopic(storagetest.Topic("/a"))
				require.NoError(b, err)
				began := processorTime(b)
				for n := 0; n < messages; n += batch {
					if err := w.Write(all); err != nil {
						b.Fatal(err)
					}
				}
				took := processorTime(b) - began
				require.NoError(b, w.Seal())
				require.Len(b, w.Metadata().Files, 1)
				require.NoError(b, os.RemoveAll(path))
				return took
			}
			var ratios []float64
			var without, with time.Duration
			for b.Loop() {
				without = write(bag.WriterOptions{})
				with = write(limits)
				ratios = append(ratios, float64(with)/float64(without))
			}
			if len(ratios) > 1 {
				ratios = ratios[1:]
			}
			slices.Sort(ratios)
			b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%more")
			b.ReportMetric(messages/without.Seconds(), "msg/s")
		})
	}
}

// BenchmarkCompression writes 1 KB messages in each mode; the files are compressed after the clock stopped.
func BenchmarkCompression(b *testing.B) {
	for _, mode := range []string{"none", "message"} {
		b.Run(mode, func(b *testing.B) {
			messages := sized(1000, 1000)
			var payload int64
			for _, m := range messages {
				payload += int64(len(m.Data))
			}
			path := filepath.Join(memoryDirectory(b), "demo")
			w, err := bag.Create(path, bag.WriterOptions{CompressionMode: mode})
			require.NoError(b, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(b, err)
			b.SetBytes(payload)
			for b.Loop() {
				if err := w.Write(messages); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			require.NoError(b, w.Seal())
		})
	}
}

func processorTime(tb testing.TB) time.Duration {
	var usage unix.Rusage
	require.NoError(tb, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// memoryDirectory is on a tmpfs where there is one, so that the disk is not what is measured.
func memoryDirectory(tb testing.TB) string {
	directory, err := os.MkdirTemp("/dev/shm", "rosbagd-bench-")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { _ = os.RemoveAll(directory) })
	return directory
}
