package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// hundredFiles has 100 files of 100 MB, 20 topics and 1,000 messages a file. There is one file on the disk, with 100 names:
// what is read of each is the same, and the benchmark needs no 10 GB.
func hundredFiles(b *testing.B) string {
	b.Helper()
	const files, megabytes, topics = 100, 100, 20
	path := filepath.Join(b.TempDir(), "large")
	w, err := bag.Create(path, bag.WriterOptions{})
	require.NoError(b, err)
	ids := make([]storage.TopicID, topics)
	for i := range ids {
		ids[i], err = w.AddTopic(storagetest.Topic(fmt.Sprintf("/topic_%d", i)))
		require.NoError(b, err)
	}
	messages := storagetest.Messages(1000, ids...)
	payload := make([]byte, megabytes*1000)
	for i := range messages {
		messages[i].Data = payload
	}
	require.NoError(b, w.Write(messages))
	require.NoError(b, w.Seal())
	r, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(b, err)
	m := r.Metadata()
	require.NoError(b, r.Close())
	first := m.Files[0]
	for n := 1; n < files; n++ {
		name := fmt.Sprintf("large_%d.mcap", n)
		require.NoError(b, os.Link(filepath.Join(path, first.Path), filepath.Join(path, name)))
		m.Paths = append(m.Paths, name)
		file := first
		file.Path = name
		m.Files = append(m.Files, file)
	}
	m.MessageCount *= files
	for i := range m.Topics {
		m.Topics[i].MessageCount *= files
	}
	text, err := m.Encode()
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(path, bag.MetadataName), text, 0o600))
	return path
}

// program builds rosbagd as users have it.
func program(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "rosbagd")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(b, err, string(output))
	return path
}

// start runs the program and gives its output, the time of a core that it took, and the largest memory it had.
func start(b *testing.B, program string, args ...string) (output string, cpu time.Duration, peak int64) {
	b.Helper()
	command := exec.Command(program, args...)
	out, err := command.Output()
	require.NoError(b, err)
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(b, ok)
	return string(out), command.ProcessState.UserTime() + command.ProcessState.SystemTime(), usage.Maxrss << 10
}

// BenchmarkInfo is a whole call, the start of the process included, on 100 files of 100 MB; the start alone beside it.
func BenchmarkInfo(b *testing.B) {
	path, rosbagd := hundredFiles(b), program(b)
	for name, args := range map[string][]string{
		"start alone": {"--version"}, "plain": {"info", path}, "json": {"info", path, "--json"},
	} {
		b.Run(name, func(b *testing.B) {
			var worst, core time.Duration
			var memory int64
			for b.Loop() {
				begin := time.Now()
				output, cpu, peak := start(b, rosbagd, args...)
				core += cpu
				worst, memory = max(worst, time.Since(begin)), max(memory, peak)
				if len(args) > 1 && !strings.Contains(output, "large_99.mcap") {
					b.Fatal(output)
				}
			}
			b.ReportMetric(float64(core.Microseconds())/1000/float64(b.N), "core-ms/op")
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
			b.ReportMetric(float64(memory)/(1<<20), "MB-resident")
		})
	}
}

// wholeBag has 10 files of 100 MB, one after the other in time, and 200,000 messages of 5 KB.
func wholeBag(b *testing.B) (path string, size int64) {
	b.Helper()
	const files, perFile = 10, 20_000
	path = filepath.Join(b.TempDir(), "whole")
	w, err := bag.Create(path, bag.WriterOptions{})
	require.NoError(b, err)
	id, err := w.AddTopic(storagetest.Topic("/topic"))
	require.NoError(b, err)
	messages := storagetest.Messages(perFile, id)
	payload := append([]byte{0, 1, 0, 0}, make([]byte, 5000)...)
	for n := range files {
		for i := range messages {
			at := int64(n*perFile+i) * int64(time.Millisecond)
			messages[i].LogTimeNanos, messages[i].PublishTimeNanos, messages[i].Data = at, at, payload
		}
		require.NoError(b, w.Write(messages))
		if n+1 < files {
			_, _, err := w.Split()
			require.NoError(b, err)
		}
	}
	require.NoError(b, w.Seal())
	r, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(b, err)
	size = r.Size()
	require.NoError(b, r.Close())
	return path, size
}

// BenchmarkWholeBag is whole calls that read a bag of 1 GB.
func BenchmarkWholeBag(b *testing.B) {
	path, size := wholeBag(b)
	rosbagd := program(b)
	for name, args := range map[string][]string{"info -v": {"info", "-v", path}, "verify": {"verify", path}} {
		b.Run(name, func(b *testing.B) {
			var core time.Duration
			var memory int64
			for b.Loop() {
				_, cpu, peak := start(b, rosbagd, args...)
				core += cpu
				memory = max(memory, peak)
			}
			b.SetBytes(size)
			b.ReportMetric(float64(core.Microseconds())/1000/float64(b.N), "core-ms/op")
			b.ReportMetric(float64(memory)/(1<<20), "MB-resident")
		})
	}
}
