package sqlite3

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// contents are the names and bytes of a directory, to show that reading changes nothing.
func contents(t testing.TB, directory string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	files := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		require.NoError(t, err)
		files[entry.Name()] = string(data)
	}
	return files
}

// leftovers copies a file that is being written with what lies beside it, as a process that is killed leaves them.
func leftovers(t testing.TB, path string) string {
	t.Helper()
	directory := t.TempDir()
	for _, suffix := range []string{"", logSuffix, indexSuffix, journalSuffix} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			require.ErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(directory, filepath.Base(path)+suffix), data, 0o600))
	}
	return filepath.Join(directory, filepath.Base(path))
}

// recovered gives what SQLite finds after it has recovered a copy of the leftovers.
func recovered(t testing.TB, path string) []line {
	t.Helper()
	path = leftovers(t, path)
	_, err := oracle(t, path, "mode=rw").Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	return selectAll(t, path, "ORDER BY timestamp, messages.id")
}

func TestLogOfAKilledWriterIsReadAndLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	messages := storagetest.Messages(2000, 0)
	for i := range messages {
		messages[i].Data = append(messages[i].Data, make([]byte, i*37%9000)...)
	}
	for i := 0; i < len(messages); i += 200 {
		require.NoError(t, w.Write(messages[i:i+200]))
		if i%400 == 0 {
			require.NoError(t, w.Flush())
		}
		killed := leftovers(t, path)
		want := recovered(t, killed)
		require.NotEmpty(t, want)
		for _, index := range []bool{true, false} {
			if !index {
				require.NoError(t, os.Remove(killed+indexSuffix))
			}
			before := contents(t, filepath.Dir(killed))
			r := open(t, killed)
			require.Equal(t, want, texts(r, query(t, r, storage.Query{})))
			require.Equal(t, uint64(len(want)), r.Info().MessageCount)
			require.Empty(t, r.Info().Damage)
			require.Equal(t, before, contents(t, filepath.Dir(killed)))
		}
	}
}

// A log that was cut or spoiled counts up to the last transaction that is whole.
func TestTornLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	messages := storagetest.Messages(300, 0)
	for i := range messages {
		require.NoError(t, w.Write(messages[i:i+1]))
		require.NoError(t, w.Flush())
	}
	whole := leftovers(t, path)
	log, err := os.ReadFile(whole + logSuffix)
	require.NoError(t, err)
	for n := range 60 {
		at := n * len(log) / 60
		torn := leftovers(t, whole)
		if n%2 == 0 {
			require.NoError(t, os.Truncate(torn+logSuffix, int64(at)))
		} else {
			spoiled := append([]byte(nil), log...)
			spoiled[at] ^= 4
			require.NoError(t, os.WriteFile(torn+logSuffix, spoiled, 0o600))
		}
		require.NoError(t, os.Remove(torn+indexSuffix))
		db := oracle(t, leftovers(t, torn), "mode=rw")
		var want int
		err := db.QueryRow("SELECT count(*) FROM messages").Scan(&want)
		r, openErr := Open(torn, storage.OpenOptions{})
		if err != nil { // not even the tables are there
			require.Error(t, openErr)
			continue
		}
		require.NoError(t, openErr)
		require.Len(t, query(t, r, storage.Query{}), want, fmt.Sprint(at))
		require.NoError(t, r.Close())
	}
}

func TestReadsWhileSQLiteWrites(t *testing.T) {
	for _, mode := range []string{"WAL", "MEMORY", "DELETE", "TRUNCATE", "PERSIST"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			db := oracle(t, path, "mode=rwc")
			makeTables(t, db, 4, "PRAGMA journal_mode="+mode, "PRAGMA synchronous=OFF", "PRAGMA cache_size=20")
			_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
			require.NoError(t, err)
			done := make(chan error, 1)
			stop := make(chan struct{})
			go func() {
				for i := 0; ; i += 50 {
					select {
					case <-stop:
						done <- nil
						return
					default:
					}
					if err := insertRows(db, i, i+50); err != nil {
						done <- err
						return
					}
					sha256.Sum256(make([]byte, 16<<20)) // a recorder does other things, too
				}
			}()
			for range 15 {
				r, err := Open(path, storage.OpenOptions{})
				require.NoError(t, err)
				require.Empty(t, r.Info().Damage)
				got := query(t, r, storage.Query{})
				require.Equal(t, r.Info().MessageCount, uint64(len(got)))
				require.Zero(t, len(got)%50) // whole transactions
				for i, m := range got {
					require.Equal(t, int64(i), m.LogTimeNanos)
					require.Equal(t, rowData(i), m.Data)
				}
				require.NoError(t, r.Close())
			}
			close(stop)
			require.NoError(t, <-done)
		})
	}
}

func rowData(i int) []byte {
	return append(fmt.Appendf(nil, "row %d ", i), make([]byte, i*31%6000)...)
}

func insertRows(db *sql.DB, from, to int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if _, err := tx.Exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)", i, rowData(i)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// makeTables makes an empty bag of a schema version.
func makeTables(t testing.TB, db *sql.DB, version int, pragmas ...string) {
	t.Helper()
	statements := append([]string(nil), pragmas...)
	switch version {
	case 1:
		statements = append(statements,
			"CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL)")
	case 2, 3:
		statements = append(statements, "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,"+
			"serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)")
	default:
		statements = append(statements, tables()[:4]...)
		statements = append(statements, fmt.Sprintf("INSERT INTO schema VALUES (%d, 'rolling')", version))
	}
	if version == 3 {
		statements = append(statements, tables()[:2]...)
		statements = append(statements, "INSERT INTO schema VALUES (3, 'humble')")
	}
	statements = append(statements, tables()[4:]...)
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
}

// A transaction that a killed process had begun to write into the file is undone by its journal.
func TestHotJournal(t *testing.T) {
	for _, mode := range []string{"DELETE", "PERSIST"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			db := oracle(t, path, "mode=rwc")
			makeTables(t, db, 4, "PRAGMA journal_mode="+mode, "PRAGMA cache_size=10", "PRAGMA synchronous=OFF")
			_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
			require.NoError(t, err)
			require.NoError(t, insertRows(db, 0, 200))
			tx, err := db.Begin()
			require.NoError(t, err)
			_, err = tx.Exec("UPDATE messages SET data = x'00' WHERE id % 3 = 0")
			require.NoError(t, err)
			for i := 200; i < 2000; i++ { // more than the cache holds, so that it goes to the file before the commit
				_, err = tx.Exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)", i, rowData(i))
				require.NoError(t, err)
			}
			killed := leftovers(t, path)
			require.NoError(t, tx.Rollback())
			require.FileExists(t, killed+journalSuffix)
			before := contents(t, filepath.Dir(killed))
			require.Greater(t, len(before["x.db3"]), 1<<20)
			require.NoError(t, os.Chmod(filepath.Dir(killed), 0o500))
			r := open(t, killed)
			got := query(t, r, storage.Query{})
			require.Len(t, got, 200)
			for i, m := range got {
				require.Equal(t, rowData(i), m.Data)
			}
			require.Empty(t, r.Info().Damage)
			require.Equal(t, uint64(200), r.Info().MessageCount)
			require.NoError(t, os.Chmod(filepath.Dir(killed), 0o700))
			require.Equal(t, before, contents(t, filepath.Dir(killed)))
			require.NotEmpty(t, selectAll(t, killed, "ORDER BY messages.id")) // the file itself is not what was committed
			require.NotEqual(t, 200, len(selectAll(t, killed, "ORDER BY messages.id")))
		})
	}
}
