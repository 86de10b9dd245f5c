package bag_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

// TestFileWithALostBeginningIsReadByItsName: content tells what a file is, and where it tells nothing the extension does.
// Alone, in a directory with and without metadata.yaml, and repaired, its other messages are there.
func TestFileWithALostBeginningIsReadByItsName(t *testing.T) {
	for name, lost := range map[string]struct {
		file  string
		bytes int // lost at the beginning
	}{
		"sqlite3_split": {"sqlite3_split_2.db3", 4096},
		"mcap_split":    {"mcap_split_2.mcap", 60},
	} {
		for what, fill := range map[string]byte{"zeros": 0, "ones": 0xff} {
			t.Run(name+" "+what, func(t *testing.T) {
				path := copyBag(t, name)
				file := filepath.Join(path, lost.file)
				count := len(read(t, open(t, file), bag.Query{}))
				require.NotZero(t, count)
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				for i := range lost.bytes {
					data[i] = fill
				}
				require.NoError(t, os.WriteFile(file, data, 0o644))

				require.Len(t, read(t, open(t, file), bag.Query{}), count)
				require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
				all := len(read(t, open(t, path), bag.Query{}))
				var damage []string
				_, err = bag.Verify(path, bag.VerifyOptions{}, func(f storage.Finding) {
					if f.Severity == storage.Damage {
						damage = append(damage, f.String())
					}
				})
				require.NoError(t, err)
				require.NotEmpty(t, damage)
				require.Contains(t, damage[0], lost.file)

				result, err := bag.Reindex(t.Context(), path, bag.ReindexOptions{Repair: true})
				require.NoError(t, err)
				require.Len(t, result.Repaired, 1)
				require.Equal(t, count, int(result.Repaired[0].Kept))
				r := open(t, path)
				require.Len(t, read(t, r, bag.Query{}), all)
				require.Equal(t, all, int(r.Metadata().MessageCount))
				require.Greater(t, all, count)
			})
		}
	}
}

// TestTopicsOfABagWithAFileThatCanNotBeRead: metadata.yaml is all that tells of its messages, of each topic as of the
// whole.
func TestTopicsOfABagWithAFileThatCanNotBeRead(t *testing.T) {
	for _, name := range []string{"sqlite3_split", "mcap_split"} {
		path := copyBag(t, name)
		before := open(t, path)
		cut, gone := before.Files()[3], before.Files()[0]
		require.NoError(t, os.Remove(gone))
		data, err := os.ReadFile(cut)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(cut, data[:len(data)/2], 0o644)) // so that it is not as it is told
		r := open(t, path)
		r.CheckFiles()
		require.Equal(t, before.Metadata().Files[0], r.Metadata().Files[0])
		require.Less(t, r.Metadata().MessageCount, before.Metadata().MessageCount)
		for i, topic := range r.Topics() {
			require.Equal(t, before.Topics()[i].MessageCount, topic.MessageCount, topic.Name)
		}
	}
}
