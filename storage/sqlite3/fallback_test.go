package sqlite3

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// When the pages that lead to messages are all as they were some time ago, they agree with each other, and the file looks
// whole. What was written after that is found all the same, and that something is wrong is told.
func TestTreesThatFellBackTogether(t *testing.T) {
	s := newSample(t, 9, 600)
	whole, _, _ := readAll(t, s.file, checkedLen, storage.ByFile)
	modes(t, func(t *testing.T, checked int64) {
		for _, order := range []storage.Order{storage.ByLogTime, storage.ByFile} {
			file := bytes.Clone(s.file)
			for _, root := range []uint32{whole.messages.root, whole.index} {
				from, to := (int(root)-1)*testPage, int(root)*testPage
				require.NotEqual(t, s.early[from:to], file[from:to])
				copy(file[from:to], s.early[from:to])
			}
			r, got, faults := readAll(t, file, checked, order)
			require.Zero(t, faults)
			s.requireSame(t, s.messages, got, fmt.Sprintf("order %d", order))
			require.Contains(t, r.Info().Damage, "600 messages found by reading all of it")
			require.Equal(t, uint64(600), r.Info().MessageCount)
		}
	})
}

// The same of a page in the middle of a tree: the ids that are missing there give it away.
func TestInnerPagesThatFellBack(t *testing.T) {
	const pageSize, rows = 512, 4000
	path := filepath.Join(t.TempDir(), "x.db3")
	db := oracle(t, path, "mode=rwc")
	makeTables(t, db, 4, "PRAGMA page_size=512", "PRAGMA synchronous=OFF")
	_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
	require.NoError(t, err)
	var states [][]byte
	for n := range rows / 100 {
		_, err := db.Exec("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO messages "+
			"(topic_id, timestamp, data) SELECT 1, ? + i, randomblob(60) FROM n", 100*n)
		require.NoError(t, err)
		state, err := os.ReadFile(path)
		require.NoError(t, err)
		states = append(states, state)
	}
	require.NoError(t, db.Close())
	file := states[len(states)-1]
	inner := 0
	for page := pageSize; page < len(file); page += pageSize {
		if file[page] != tableInterior {
			continue
		}
		for _, early := range states {
			if page+pageSize > len(early) || early[page] != tableInterior || bytes.Equal(early[page:page+pageSize], file[page:page+pageSize]) {
				continue
			}
			inner++
			stale := bytes.Clone(file)
			copy(stale[page:page+pageSize], early[page:page+pageSize])
			for _, checked := range []int64{0, checkedLen} {
				for _, order := range []storage.Order{storage.ByLogTime, storage.ByFile} {
					r, got, _ := readAll(t, stale, checked, order)
					require.Equal(t, rows, len(got), "page %d, checked %d, order %d: %s", page/pageSize+1, checked, order, r.Info().Damage)
					require.NotEmpty(t, r.Info().Damage)
				}
			}
			break
		}
	}
	require.Greater(t, inner, 10)
}
