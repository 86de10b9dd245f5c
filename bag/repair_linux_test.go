package bag_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage/storagetest"
)

func TestRepairRefusesAFileThatIsBeingWritten(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "demo")
	w := create(t, directory, bag.WriterOptions{})
	seal := run(t, w)
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	before := names(t, directory)
	_, err := bag.Reindex(context.Background(), directory, bag.ReindexOptions{Repair: true})
	require.ErrorIs(t, err, bag.ErrInUse)
	require.ErrorContains(t, err, w.CurrentFile())
	require.Equal(t, before, names(t, directory))
	seal()
	require.Empty(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Repaired)
}
