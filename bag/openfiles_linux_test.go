package bag_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// openIn counts the files of a directory that this process has open.
func openIn(t testing.TB, directory string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	n := 0
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err == nil && strings.HasPrefix(target, directory+string(filepath.Separator)) {
			n++
		}
	}
	return n
}

func TestOnlyFilesThatAreNeededAreOpen(t *testing.T) {
	n := manyFiles(t)
	directory := filepath.Join(t.TempDir(), "x")
	files := make([][]storage.Message, n)
	for i := range files {
		from := int64(i) * 1000
		files[i] = []storage.Message{at(0, from, from), at(1, from+500, from+500), at(0, from+1400, from+1400)} // into the next one
	}
	writeBag(t, directory, ".mcap", files...)

	r := open(t, directory)
	require.Zero(t, openIn(t, directory), "metadata.yaml tells all")
	it, err := r.Messages(bag.Query{})
	require.NoError(t, err)
	require.LessOrEqual(t, openIn(t, directory), 1)
	count, most := 0, 0
	for {
		if _, err := it.Next(); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		count++
		most = max(most, openIn(t, directory))
	}
	require.NoError(t, it.Close())
	require.Equal(t, 3*n, count)
	require.LessOrEqual(t, most, 10, "two that overlap, and eight that wait for the next seek")

	require.NoError(t, r.Close())
	require.Zero(t, openIn(t, directory))
	_, err = r.Messages(bag.Query{})
	require.ErrorIs(t, err, os.ErrClosed)

	seeking := open(t, directory)
	it, err = seeking.Messages(bag.Query{Query: storage.Query{FromNanos: 1e9 + int64(n/2)*1000 + 450, Topics: []storage.TopicID{1}}})
	require.NoError(t, err)
	m, err := it.Next()
	require.NoError(t, err)
	require.Equal(t, int64(1e9+n/2*1000+500), m.LogTimeNanos)
	require.LessOrEqual(t, openIn(t, directory), 3)
	require.NoError(t, it.Close())
	require.NoError(t, seeking.Close())

	require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
	without := open(t, directory)
	require.LessOrEqual(t, openIn(t, directory), 8)
	require.Equal(t, uint64(3*n), without.Metadata().MessageCount)
}

func TestAConversionThatIsEndedLeavesNoFileOpen(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{}, storagetest.Messages(10, 0, 1), twoTopics()...)
	directory := t.TempDir()
	out := everything(t, bag.WriterOptions{})
	out.Path = filepath.Join(directory, "out")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := bag.Convert(ctx, convertOptions(out, in))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, openIn(t, directory))
}
