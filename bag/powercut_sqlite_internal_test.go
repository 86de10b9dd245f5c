package bag

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/sqlite3"
	"rosbagd/storage/storagetest"
)

// diskState is the content of the files of a directory.
type diskState map[string][]byte

func readState(t *testing.T, directory string) diskState {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	state := diskState{}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".db3-shm" {
			continue // lives in memory; a loss of power takes it
		}
		state[entry.Name()], err = os.ReadFile(filepath.Join(directory, entry.Name()))
		require.NoError(t, err)
	}
	return state
}

// mix gives what may be on a disk that was in one state when it was synced and was going to be in another.
func mix(synced, live []byte, random *rand.Rand) []byte {
	size := len(synced)
	if len(live) > size {
		size += random.IntN(len(live) - size + 1)
	}
	content := make([]byte, size)
	copy(content, synced)
	for page := 0; page < size; page += diskPage {
		end := min(page+diskPage, size, len(live))
		if page < end && random.IntN(2) == 0 {
			copy(content[page:end], live[page:end])
		}
	}
	return content
}

// TestPowerCutsOfSQLite mixes pages of the write-ahead log as it was when Sync returned with pages as they were later.
// SQLite's own files can not be watched, so there is a state only between the operations of the Writer.
func TestPowerCutsOfSQLite(t *testing.T) {
	for seed := range rounds(t, powerCuts, 60) / cutsOfAStory {
		random := rand.New(rand.NewPCG(uint64(seed), 11))
		path := filepath.Join(t.TempDir(), "demo")
		w, err := Create(path, WriterOptions{StorageID: sqlite3.ID})
		require.NoError(t, err)
		for _, name := range []string{"/a", "/b"} {
			_, err := w.AddTopic(storagetest.Topic(name))
			require.NoError(t, err)
		}
		var (
			synced   diskState
			promises []promise
			written  int
			cuts     int
		)
		for cuts < cutsOfAStory {
			n := 1 + random.IntN(200)
			require.NoError(t, w.Write(numberedMessages(written, written+n)))
			written += n
			require.NoError(t, w.current.writer.Flush())
			w.unsynced = true
			live := readState(t, path)
			if random.IntN(2) == 0 || synced == nil {
				require.NoError(t, w.sync())
				synced = readState(t, path)
				promises = []promise{{0, written}}
				continue
			}
			file := w.current.name
			require.True(t, bytes.Equal(synced[file], live[file]), "nothing is moved into the file meanwhile, which would sync the log")
			directory := filepath.Join(t.TempDir(), "demo")
			require.NoError(t, os.Mkdir(directory, 0o700))
			for name := range live {
				content := mix(synced[name], live[name], random)
				require.NoError(t, os.WriteFile(filepath.Join(directory, name), content, 0o600))
			}
			requireKept(t, directory, promises)
			cuts++
		}
		require.NoError(t, w.Seal())
	}
}
