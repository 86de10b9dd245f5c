package sqlite3

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// BenchmarkWrite gives rows a second at the sizes of docs/benchmarks.md.
func BenchmarkWrite(b *testing.B) {
	for _, preset := range Format().Presets {
		for _, size := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", preset, size), func(b *testing.B) { benchmarkWrite(b, preset, size) })
		}
	}
}

func benchmarkWrite(b *testing.B, preset string, size int) {
	const batchBytes = 1 << 20
	batch := storagetest.Messages(max(1, batchBytes/size), 0)
	payload := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, size/10)
	for i := range batch {
		batch[i].Data = payload
	}
	path := filepath.Join(b.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{Preset: preset})
	require.NoError(b, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(b, err)
	b.SetBytes(int64(size * len(batch)))
	rows := 0
	for b.Loop() {
		require.NoError(b, w.Write(batch))
		require.NoError(b, w.Flush())
		rows += len(batch)
		later(batch)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	require.NoError(b, w.Seal(nil))
	require.NoError(b, os.Remove(path))
}

// later moves messages to behind their end, as in a recording: the index grows at its end.
func later(batch []storage.Message) {
	length := batch[len(batch)-1].LogTimeNanos - batch[0].LogTimeNanos + 1
	for i := range batch {
		batch[i].LogTimeNanos += length
	}
}

// BenchmarkWriteSQL gives rows a second of a prepared statement of database/sql, for BenchmarkWrite to be compared with.
func BenchmarkWriteSQL(b *testing.B) {
	for preset, pragmas := range map[string]string{
		PresetResilient: "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)",
		PresetNone:      "_pragma=journal_mode(MEMORY)&_pragma=synchronous(OFF)",
	} {
		b.Run(preset+"/100", func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.db3")
			db := oracle(b, path, "mode=rwc&"+pragmas)
			db.SetMaxOpenConns(1)
			for _, table := range tables() {
				_, err := db.Exec(table)
				require.NoError(b, err)
			}
			batch := storagetest.Messages((1<<20)/100, 0)
			payload := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10)
			rows := 0
			for b.Loop() {
				tx, err := db.Begin()
				require.NoError(b, err)
				insert, err := tx.Prepare("INSERT INTO messages (timestamp, topic_id, data) VALUES (?, ?, ?)")
				require.NoError(b, err)
				for i := range batch {
					if _, err := insert.Exec(batch[i].LogTimeNanos, 1, payload); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, tx.Commit())
				rows += len(batch)
				later(batch)
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			require.NoError(b, db.Close())
		})
	}
}

// splitMetadata tells of messages in other files.
const splitMetadata = "version: 9\nmessage_count: 100000000\n"

// benchmarkFile writes a finished file of about total bytes of payload, with the metadata of a bag or without.
func benchmarkFile(b *testing.B, size, total int, metadata string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{Preset: PresetNone})
	require.NoError(b, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(b, err)
	payload := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, size/10)
	messages := storagetest.Messages(max(total/size, 2), 0)
	for i := range messages {
		messages[i].Data = payload
	}
	require.NoError(b, w.Write(messages))
	require.NoError(b, w.Seal([]byte(metadata)))
	return path
}

// BenchmarkRead gives rows a second by log time and in the order of the file, and SQLite's own through database/sql.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		path := benchmarkFile(b, size, 64<<20, splitMetadata)
		r := open(b, path)
		for name, order := range map[string]storage.Order{"log time": storage.ByLogTime, "file": storage.ByFile} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				rows := 0
				for b.Loop() {
					it, err := r.Messages(storage.Query{Order: order})
					require.NoError(b, err)
					for {
						if _, err := it.Next(); err != nil {
							require.ErrorIs(b, err, io.EOF)
							break
						}
						rows++
					}
				}
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
		b.Run(fmt.Sprintf("database-sql/%d", size), func(b *testing.B) {
			db := oracle(b, path, "mode=ro&immutable=1")
			count := 0
			for b.Loop() {
				rows, err := db.Query("SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id")
				require.NoError(b, err)
				for rows.Next() {
					var topic, nanos int64
					var data sql.RawBytes
					require.NoError(b, rows.Scan(&topic, &nanos, &data))
					count++
				}
				require.NoError(b, rows.Close())
			}
			b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkOpenAndSeek opens a file and reads one message from its middle on.
func BenchmarkOpenAndSeek(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		path, uncounted := benchmarkFile(b, size, 100<<20, splitMetadata), benchmarkFile(b, size, 100<<20, "")
		middle := storagetest.Messages((100<<20)/size, 0)[(50<<20)/size].LogTimeNanos
		b.Run(fmt.Sprintf("seek/%d", size), func(b *testing.B) {
			r := open(b, path)
			for b.Loop() {
				it, err := r.Messages(storage.Query{FromNanos: middle})
				require.NoError(b, err)
				m, err := it.Next()
				require.NoError(b, err)
				require.Equal(b, middle, m.LogTimeNanos)
				require.NoError(b, it.Close())
			}
		})
		for name, open := range map[string]struct {
			path string
			info func(storage.Reader) storage.Info
		}{
			"open": {path, storage.Reader.Info}, "open without counts": {uncounted, storage.Outline},
			"open and count": {uncounted, storage.Reader.Info},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				for b.Loop() {
					r, err := Open(open.path, storage.OpenOptions{})
					require.NoError(b, err)
					require.Equal(b, uint64((100<<20)/size), open.info(r).MessageCount)
					require.NoError(b, r.Close())
				}
			})
		}
	}
}

// BenchmarkOpenSplit opens a file of 1 GB whose copy of the metadata tells of other files too, as this program closed it.
func BenchmarkOpenSplit(b *testing.B) {
	path := benchmarkFile(b, 100, 1<<30, splitMetadata)
	for b.Loop() {
		r, err := Open(path, storage.OpenOptions{})
		require.NoError(b, err)
		require.Equal(b, uint64((1<<30)/100), r.Info().Topics[0].MessageCount)
		require.NoError(b, r.Close())
	}
}
