package bag_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
)

// FuzzPackedFile opens what may be a compressed file: no panic, and memory in proportion to the file.
func FuzzPackedFile(f *testing.F) {
	paths, err := filepath.Glob("testdata/rosbag2/mcap_file_zstd_split/*_0.mcap.zstd")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add(rle(mcaplib.Magic, 2))
	f.Add([]byte{0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x07, 1, 0, 0})
	f.Add([]byte{0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 1, 0x28, 0xB5, 0x2F, 0xFD})
	directory := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 9000 { // four bytes can become 128 KiB, all on disk
			return
		}
		path := filepath.Join(directory, "x.mcap.zstd")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		before := allocated()
		r, err := bag.Open(path, bag.ReaderOptions{Unpack: bag.UnpackOptions{Directory: directory, MaxBytes: 1}})
		if err != nil {
			return
		}
		it, err := r.Messages(bag.Query{})
		if err == nil {
			for range 10_000 {
				if _, err := it.Next(); errors.Is(err, io.EOF) {
					break
				}
			}
			require.NoError(t, it.Close())
		}
		require.NoError(t, r.Close())
		if len(data) <= 200 {
			require.Less(t, allocated()-before, uint64(100<<20))
		}
	})
}
