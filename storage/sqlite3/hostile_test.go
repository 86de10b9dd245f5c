package sqlite3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// A file can not make this program run anything: what is not a plain table is refused, the rest is not looked at.
func TestFileCanNotRunCode(t *testing.T) {
	topics := "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT,type TEXT,serialization_format TEXT)"
	messages := "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER,timestamp INTEGER,data BLOB)"
	tests := map[string]struct {
		statements []string
		refused    string
	}{
		"view": {
			[]string{topics, "CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 2 AS timestamp, randomblob(1000000000) AS data"},
			"messages is a view, not a table",
		},
		"virtual table": {
			[]string{topics, "CREATE VIRTUAL TABLE messages USING fts5(topic_id, timestamp, data)"}, "table messages is a virtual table",
		},
		"generated column": {
			[]string{topics, "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER,timestamp INTEGER,data BLOB AS (zeroblob(999)))"},
			"table messages has generated columns",
		},
		"without row ids": {
			[]string{topics, "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER,timestamp INTEGER,data BLOB) WITHOUT ROWID"},
			"table messages is without row ids",
		},
		"missing column": {
			[]string{topics, "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER,data BLOB)"},
			"table messages has no column timestamp",
		},
		"missing table": {[]string{messages}, "no table topics"},
		"triggers and views beside": {[]string{
			topics, messages, "CREATE VIEW v AS SELECT load_extension('x') FROM messages",
			"CREATE TRIGGER tr AFTER INSERT ON messages BEGIN DELETE FROM messages; END", "DROP TRIGGER tr",
			"INSERT INTO topics VALUES (1, '/a', 'a/msg/B', 'cdr')", "INSERT INTO messages VALUES (1, 1, 5, x'01')",
			"CREATE TRIGGER tr BEFORE DELETE ON messages BEGIN SELECT raise(ABORT, 'no'); END",
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			db := oracle(t, path, "mode=rwc")
			for _, statement := range test.statements {
				_, err := db.Exec(statement)
				require.NoError(t, err, statement)
			}
			require.NoError(t, db.Close())
			r, err := Open(path, storage.OpenOptions{})
			if test.refused != "" {
				require.ErrorIs(t, err, storage.ErrUnknownFormat)
				require.ErrorContains(t, err, test.refused)
				require.NotContains(t, err.Error(), "\n")
				require.Contains(t, verifyAll(t, path)[0].Text, test.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []byte{1}, query(t, r, storage.Query{})[0].Data)
			require.NoError(t, r.Close())
			require.Contains(t, fmt.Sprint(verifyAll(t, path)), "SQLite was not asked")
		})
	}
}

func verifyAll(t testing.TB, path string) []storage.Finding {
	t.Helper()
	var findings []storage.Finding
	topics, looked := 0, int64(0)
	err := verify(path, storage.Verification{
		Report:   func(f storage.Finding) { findings = append(findings, f) },
		Topic:    func(storage.Topic, int64, int64) { topics++ },
		Message:  func(m storage.Message, _ int64) { require.Less(t, int(m.Topic), topics) },
		Progress: func(bytes int64) { looked += bytes },
	})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, looked, info.Size())
	return findings
}

// lyingFile is a small database whose message tells of another size than it has.
func lyingFile(t testing.TB, size uint64) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db3")
	db := oracle(t, path, "mode=rwc")
	makeTables(t, db, 4, "PRAGMA page_size=512")
	for _, statement := range []string{
		"INSERT INTO topics VALUES (1, '/a', 'a/msg/B', 'cdr', '', '')",
		"INSERT INTO messages VALUES (1, 1, 5, x'" + fmt.Sprintf("%0600x", 7) + "')",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.LastIndex(file, []byte{0x82, 0x33, 0x01}) // length of the record and row id
	require.Positive(t, at)
	lie := putVarint(size)
	copy(file[at-len(lie)+2:], lie)
	return file
}

// putVarint writes nine bytes, so that every size is a valid one.
func putVarint(value uint64) []byte {
	out := make([]byte, 9)
	out[8] = byte(value)
	value >>= 8
	for i := 7; i >= 0; i-- {
		out[i] = byte(value) | 0x80
		value >>= 7
	}
	return out
}

func TestLyingSizesDoNotAllocate(t *testing.T) {
	for _, size := range []uint64{1 << 20, 1 << 30, 1<<31 - 1, 1 << 40, 1<<63 - 1, 1<<64 - 1} {
		file := lyingFile(t, size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, checked := range []int64{0, checkedLen} {
			_, messages, _ := readAll(t, file, checked, storage.ByLogTime)
			require.Empty(t, messages)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(30<<20), size)
	}
}

// FuzzFile opens and reads anything that begins like a database. The seeds are small files of each kind.
func FuzzFile(f *testing.F) {
	f.Add(lyingFile(f, 1<<30))
	for version := 1; version <= 4; version++ {
		path := filepath.Join(f.TempDir(), "x.db3")
		db := oracle(f, path, "mode=rwc")
		makeTables(f, db, version, "PRAGMA page_size=512", "PRAGMA auto_vacuum=1")
		values := []string{"1", "'/a'", "'a/msg/B'", "'cdr'", "'" + offersWords + "'", "'RIHS01_'"}[:min(version+3+version/4, 6)]
		if version == 1 {
			values = values[:4]
		}
		if version == 3 {
			values = values[:5]
		}
		statement := "INSERT INTO topics VALUES ("
		for i, value := range values {
			if i > 0 {
				statement += ", "
			}
			statement += value
		}
		_, err := db.Exec(statement + ")")
		require.NoError(f, err)
		for i := range 20 {
			_, err := db.Exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, zeroblob(?))", i, i*90)
			require.NoError(f, err)
		}
		require.NoError(f, db.Close())
		file, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(file)
		f.Add(file[:len(file)*2/3])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) < headerLen {
			return
		}
		copy(file, magic)
		for _, checked := range []int64{0, checkedLen} {
			r, err := newReader(&database{path: "x.db3", file: bytes.NewReader(file), size: int64(len(file))}, checked)
			if err != nil {
				continue
			}
			r.Info()
			for _, order := range []storage.Order{storage.ByLogTime, storage.ByFile} {
				it, err := r.Messages(storage.Query{Order: order})
				require.NoError(t, err)
				payload := 0
				for n := 0; ; n++ {
					m, err := it.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					require.Less(t, n, 10*len(file))
					if payload += len(m.Data); err == nil && len(m.Data) > len(file) {
						t.Fatalf("a message of %d bytes in a file of %d", len(m.Data), len(file))
					}
				}
			}
		}
	})
}

// FuzzLog reads anything as a write-ahead log or as a journal.
func FuzzLog(f *testing.F) {
	header := make([]byte, logHeaderLen+frameHeaderLen+512)
	binary.BigEndian.PutUint32(header, logMagic)
	binary.BigEndian.PutUint32(header[8:], 512)
	f.Add(header)
	f.Add([]byte(journalMagic + "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x02\x00\x00\x00\x02\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "log")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		_, _, err = (&logReader{file: file}).overlay()
		require.NoError(t, err)
		_, _, err = parseJournal(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
	})
}
