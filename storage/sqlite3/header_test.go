package sqlite3

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// bagOf is a closed database with 400 messages of one topic, of some pages.
func bagOf(t testing.TB, pragmas ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db3")
	db := oracle(t, path, "")
	makeTables(t, db, 4, pragmas...)
	_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
	require.NoError(t, err)
	require.NoError(t, insertRows(db, 1, 401))
	require.NoError(t, db.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	return file
}

// TestFileWithoutItsHeader loses the first bytes or the first page. What the header told of the pages is found out from
// the other pages; with small pages they hold all messages and tables.
func TestFileWithoutItsHeader(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	noise := func(data []byte) {
		for i := range data {
			data[i] = byte(random.Uint32())
		}
	}
	for _, size := range []int{512, 1024, 4096, 16384, 65536} {
		file := bagOf(t, fmt.Sprintf("PRAGMA page_size=%d", size))
		whole, want, _ := readAll(t, file, checkedLen, storage.ByLogTime)
		require.Len(t, want, 400)
		for name, damage := range map[string]func(data []byte){
			"a byte of the magic":   func(data []byte) { data[3] ^= 4 },
			"the header, zeros":     func(data []byte) { clear(data[:headerLen]) },
			"the header, noise":     func(data []byte) { noise(data[:headerLen]) },
			"the reserved bytes":    func(data []byte) { data[20] = 16 },
			"the first page, zeros": func(data []byte) { clear(data[:size]) },
			"the first page, noise": func(data []byte) { noise(data[:size]) },
		} {
			t.Run(fmt.Sprintf("%d, %s", size, name), func(t *testing.T) {
				data := bytes.Clone(file)
				damage(data)
				r, got, faults := readAll(t, data, checkedLen, storage.ByLogTime)
				require.NotNil(t, r)
				require.Zero(t, faults)
				require.Contains(t, r.Info().Damage, "damaged at byte 0")
				require.Contains(t, r.Info().Damage, "400 messages")
				require.Equal(t, texts(whole, want), texts(r, got))
			})
		}
	}
}

// TestNoDatabaseIsNone: what is not one, and has nothing of one, is not read.
func TestNoDatabaseIsNone(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, data := range map[string][]byte{
		"zeros": make([]byte, 200_000), "noise": noise, "text": bytes.Repeat([]byte("no database\n"), 2000),
		"short": []byte("no database"), "a page of zeros": make([]byte, 4096),
	} {
		_, err := newReader(&database{path: "x.db3", file: bytes.NewReader(data), size: int64(len(data))}, checkedLen)
		require.ErrorIs(t, err, storage.ErrUnknownFormat, name)
	}
}
