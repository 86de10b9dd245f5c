//go:build unix

package mcap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// The figures of this file are ratios: what is measured and its limit take turns in one run, the first pair of which is
// thrown away, and the middle one of the others is shown. These say where and how much:
const (
	benchDisk  = "ROSBAGD_BENCH_DISK"  // a directory on a disk; the default is that for temporary files
	benchTmpfs = "ROSBAGD_BENCH_TMPFS" // a directory in memory; the default is /dev/shm
	benchMB    = "ROSBAGD_BENCH_MB"    // size of a file in MB; the default is 256
	benchPairs = 5
)

// BenchmarkWrite is a file from its creation to the end of Seal beside write(2) of as many bytes of the same memory in
// pieces of 1 MiB, fsync(2) included in both.
func BenchmarkWrite(b *testing.B) {
	for _, place := range benchPlaces(b) {
		for _, preset := range []string{"none", "fastwrite", "no chunks"} {
			for _, load := range benchLoads() {
				b.Run(fmt.Sprintf("%s/%s/%s", place.name, preset, load.name), func(b *testing.B) {
					options := Options{NoChunking: true}
					if preset != "no chunks" {
						var err error
						options, err = Preset(preset)
						require.NoError(b, err)
					}
					benchWrite(b, place.directory, options, load)
				})
			}
		}
	}
}

type benchPlace struct{ name, directory string }

func benchPlaces(b *testing.B) []benchPlace {
	var places []benchPlace
	for _, place := range []benchPlace{
		{"disk", os.Getenv(benchDisk)}, {"tmpfs", cmp.Or(os.Getenv(benchTmpfs), "/dev/shm")},
	} {
		directory, err := os.MkdirTemp(place.directory, "rosbagd-bench-")
		if err != nil {
			b.Logf("without %s: %v", place.name, err)
			continue
		}
		b.Cleanup(func() { _ = os.RemoveAll(directory) })
		places = append(places, benchPlace{place.name, directory})
	}
	return places
}

// benchLoad is the size of messages and how many come at once.
type benchLoad struct {
	name        string
	size, batch int
}

func benchLoads() []benchLoad {
	return []benchLoad{
		{"100B", 100, 256},
		{"10KB", 10_000, 64},
		{"10KB one by one", 10_000, 1},
		{"1MB", 1_000_000, 1},
	}
}

func benchBytes(b *testing.B) int {
	mb, err := strconv.Atoi(cmp.Or(os.Getenv(benchMB), "256"))
	require.NoError(b, err)
	return mb * 1_000_000
}

// benchMemory is sensor data of a kind: values that change by little, in more memory than a processor's cache has.
func benchMemory() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	memory := make([]byte, 0, 64<<20)
	values := [8]int64{}
	for len(memory)+8 <= cap(memory) {
		for i := range values {
			values[i] += random.Int64N(64) - 31
			memory = binary.LittleEndian.AppendUint64(memory, uint64(values[i])<<16)
		}
	}
	return memory
}

func benchWrite(b *testing.B, directory string, options Options, load benchLoad) {
	memory := benchMemory()
	total := benchBytes(b)
	path := filepath.Join(directory, "x.mcap")
	var size int64
	messages := total / load.size
	var p measured
	for range 1 + benchPairs {
		p.ours = append(p.ours, took(b, func() { size = benchFile(b, path, options, load, memory, messages) }))
		require.NoError(b, os.Remove(path))
		p.limits = append(p.limits, took(b, func() { rawFile(b, path, memory, size) }))
		require.NoError(b, os.Remove(path))
	}
	p.report(b, messages, size)
}

// cost is the time of the clock and of the processor, that of the kernel included: on a busy machine only the second
// tells much.
type cost struct{ clock, processor time.Duration }

func took(b *testing.B, work func()) cost {
	var before, after unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
	began := time.Now()
	work()
	clock := time.Since(began)
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
	processor := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return cost{clock: clock, processor: time.Duration(processor)}
}

// measured is the work and its limit, pair by pair.
type measured struct{ ours, limits []cost }

// report shows the middle of the pairs but the first: of the clock, and of the processor alone.
func (p measured) report(b *testing.B, messages int, size int64) {
	clock := func(c cost) float64 { return c.clock.Seconds() }
	processor := func(c cost) float64 { return c.processor.Seconds() }
	seconds, ofLimit := p.middle(clock)
	_, ofProcessor := p.middle(processor)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(messages)/seconds, "msg/s")
	b.ReportMetric(float64(size)/1e6/seconds, "MB/s")
	b.ReportMetric(ofLimit, "of-limit")
	b.ReportMetric(ofProcessor, "of-limit(cpu)")
}

func (p measured) middle(measure func(cost) float64) (ours, ratio float64) {
	var all, ratios []float64
	for i := 1; i < len(p.ours); i++ {
		all = append(all, measure(p.ours[i]))
		ratios = append(ratios, measure(p.limits[i])/measure(p.ours[i]))
	}
	slices.Sort(all)
	slices.Sort(ratios)
	return all[len(all)/2], ratios[len(ratios)/2]
}

func benchFile(b *testing.B, path string, options Options, load benchLoad, memory []byte, messages int) int64 {
	w, err := Create(path, options)
	require.NoError(b, err)
	defer w.Close()
	topic, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(b, err)
	batch := make([]storage.Message, load.batch)
	at, now := 0, int64(1_700_000_000_000_000_000)
	for left := messages; left > 0; {
		batch = batch[:min(left, len(batch))]
		for i := range batch {
			if at+load.size > len(memory) {
				at = 0
			}
			batch[i] = storage.Message{
				Topic: topic, LogTimeNanos: now, PublishTimeNanos: now - 1000, Data: memory[at : at+load.size],
			}
			at += load.size
			now += 1000
		}
		if err := w.Write(batch); err != nil {
			b.Fatal(err)
		}
		left -= len(batch)
	}
	require.NoError(b, w.Seal(nil))
	return w.Size()
}

func rawFile(b *testing.B, path string, memory []byte, size int64) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	require.NoError(b, err)
	const piece = 1 << 20
	at := 0
	for size > 0 {
		if at+piece > len(memory) {
			at = 0
		}
		n := min(size, piece)
		if _, err := file.Write(memory[at : at+int(n)]); err != nil {
			b.Fatal(err)
		}
		at += piece
		size -= n
	}
	require.NoError(b, file.Sync())
	require.NoError(b, file.Close())
}

// BenchmarkWriteZstd is a file beside its compressor alone, with the same settings on the same data in pieces of a chunk.
func BenchmarkWriteZstd(b *testing.B) {
	places := benchPlaces(b)
	if len(places) == 0 {
		b.Fatal("no place to write to")
	}
	place := places[len(places)-1] // where writing costs least
	for _, preset := range []string{"zstd_fast", "zstd_small"} {
		for _, load := range benchLoads() {
			b.Run(fmt.Sprintf("%s/%s/%s", place.name, preset, load.name), func(b *testing.B) {
				options, err := Preset(preset)
				require.NoError(b, err)
				benchZstd(b, place.directory, options, load)
			})
		}
	}
}

func benchZstd(b *testing.B, directory string, options Options, load benchLoad) {
	memory := benchMemory()
	total := benchBytes(b)
	if options.CompressionLevel == LevelSlowest {
		total /= 8
	}
	messages := total / load.size
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstdLevel(options.CompressionLevel)),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	require.NoError(b, err)
	defer encoder.Close()
	records := benchRecords(memory, load, messages)
	path := filepath.Join(directory, "x.mcap")
	var p measured
	var out []byte
	var size int64
	for range 1 + benchPairs {
		p.ours = append(p.ours, took(b, func() { size = benchFile(b, path, options, load, memory, messages) }))
		require.NoError(b, os.Remove(path))
		p.limits = append(p.limits, took(b, func() {
			for chunk := range slices.Chunk(records, options.limit()) {
				out = encoder.EncodeAll(chunk, out[:0])
			}
		}))
	}
	p.report(b, messages, int64(len(records)))
	b.ReportMetric(float64(len(records))/float64(size), "x-smaller")
}

// benchRecords are the message records that a file of benchFile has, without chunks.
func benchRecords(memory []byte, load benchLoad, messages int) []byte {
	builder := newChunkBuilder(messages * (messageOverhead + load.size))
	builder.grow(1)
	at, now := 0, int64(1_700_000_000_000_000_000)
	for range messages {
		if at+load.size > len(memory) {
			at = 0
		}
		m := storage.Message{LogTimeNanos: now, PublishTimeNanos: now - 1000, Data: memory[at : at+load.size]}
		builder.add(&m, false)
		at += load.size
		now += 1000
	}
	return builder.records
}
