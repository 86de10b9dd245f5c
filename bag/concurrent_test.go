package bag_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rosbagd/bag"
	"rosbagd/storage"
)

// TestManyReadOneReader: each goroutine has an iterator of its own, in files that are opened, closed and unpacked
// meanwhile.
func TestManyReadOneReader(t *testing.T) {
	files := make([][]storage.Message, 24)
	for i := range files {
		from := int64(i) * 100
		files[i] = []storage.Message{at(0, from, from), at(1, from+50, from+50), at(0, from+120, from+120)}
	}
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", files...)
	packFile(t, filepath.Join(directory, "x_3.mcap"))
	packFile(t, filepath.Join(directory, "x_7.mcap"))
	r, err := bag.Open(directory, bag.ReaderOptions{Unpack: bag.UnpackOptions{Directory: t.TempDir(), StreamAbove: 1}})
	require.NoError(t, err)
	var group errgroup.Group
	for worker := range int64(6) {
		group.Go(func() error {
			for round := range int64(4) {
				skip := (worker + round) % 5 * 3 // files that are left out
				it, err := r.Messages(bag.Query{Query: storage.Query{FromNanos: 1e9 + skip*100 + 30}})
				if err != nil {
					return err
				}
				count, last := 0, int64(0)
				for {
					m, err := it.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						return err
					}
					if m.LogTimeNanos < last {
						return errors.New("out of order")
					}
					count, last = count+1, m.LogTimeNanos
				}
				if err := it.Close(); err != nil {
					return err
				}
				// Of the first file one message is before the time.
				if want := 3*(len(files)-int(skip)) - 1; count != want {
					return errors.New("messages are missing")
				}
				_ = r.Topics()
				_ = r.Notes()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Empty(t, r.Notes())
	require.NoError(t, r.Close())
}
