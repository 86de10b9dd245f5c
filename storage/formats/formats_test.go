package formats_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLookupNamesTheIdsThereAre(t *testing.T) {
	format, err := formats.Lookup(formats.DefaultID)
	require.NoError(t, err)
	require.Equal(t, ".mcap", format.Extension)
	_, err = formats.Lookup("rosbag_v1")
	require.ErrorIs(t, err, storage.ErrUnknownStorage)
	require.ErrorContains(t, err, "mcap, sqlite3")
}

func TestDetectGoesByContentNotByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.mcap")
	require.NoError(t, os.WriteFile(path, []byte("SQLite format 3\x00 and more"), 0o600))
	format, err := formats.Detect(path)
	require.NoError(t, err)
	require.Equal(t, "sqlite3", format.ID)
	_, err = format.Open(path, storage.OpenOptions{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestDetectDamagedGoesByTheNameWhereThereIsMoreThanAHead(t *testing.T) {
	for size, known := range map[int]bool{6: false, storage.HeadLen: false, storage.HeadLen + 1: true} {
		path := filepath.Join(t.TempDir(), "x.mcap")
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
		format, err := formats.DetectDamaged(path)
		if !known {
			require.ErrorIs(t, err, storage.ErrUnknownFormat, size)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "mcap", format.ID)
	}
}
