package bag_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

// manyFilesVariable sets how many files the bags have that are to have many.
const manyFilesVariable = "ROSBAGD_TEST_FILES"

func manyFiles(t testing.TB) int {
	t.Helper()
	text := os.Getenv(manyFilesVariable)
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// allocated is how many bytes were allocated until now.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestMemoryOfAReaderIsBounded: it grows neither with the files nor with their messages.
func TestMemoryOfAReaderIsBounded(t *testing.T) {
	n := manyFiles(t)
	directory := filepath.Join(t.TempDir(), "x")
	payload := make([]byte, 1<<16)
	require.NoError(t, os.Mkdir(directory, 0o700))
	for file := range n {
		messages := make([]storage.Message, 0, 32)
		for i := range 32 { // 2 MiB
			m := at(storage.TopicID(i%2), int64(file*32+i), 0)
			m.Data = payload
			messages = append(messages, m)
		}
		writeFile(t, filepath.Join(directory, fmt.Sprintf("x_%d.mcap", file)), messages)
	}
	live := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for _, metadata := range []bool{false, true} {
		before := live()
		r := open(t, directory)
		if metadata {
			r.CheckFiles()
		}
		it, err := r.Messages(bag.Query{})
		require.NoError(t, err)
		count, most := 0, int64(0)
		for {
			_, err := it.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if count++; count%(n*32/20) == 0 {
				most = max(most, live()-before)
			}
		}
		require.NoError(t, it.Close())
		require.Equal(t, n*32, count)
		require.Less(t, most, int64(32<<20))
		describeFiles(t, directory)
	}
}
