package sqlite3

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	lib "modernc.org/sqlite/lib"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

func config(text string) storage.Config {
	return storage.Config{Path: "storage.yaml", Data: []byte(text)}
}

func TestPragmas(t *testing.T) {
	tests := map[string]struct {
		preset  string
		config  storage.Config
		pragmas map[string]string
		refused string
	}{
		"default":           {"", storage.Config{}, map[string]string{"journal_mode": "wal", "synchronous": "1"}, ""},
		"resilient":         {"resilient", storage.Config{}, map[string]string{"journal_mode": "wal", "synchronous": "1"}, ""},
		"none":              {"none", storage.Config{}, map[string]string{"journal_mode": "memory", "synchronous": "0"}, ""},
		"file over preset":  {"none", config("write:\n  pragmas: [\"journal_mode=DELETE\"]"), map[string]string{"journal_mode": "delete", "synchronous": "0"}, ""},
		"call form":         {"none", config("write:\n  pragmas: ['Synchronous(2)', cache_size = 100]"), map[string]string{"synchronous": "2", "cache_size": "100"}, ""},
		"no pragmas":        {"none", config("write: {}"), map[string]string{"journal_mode": "memory"}, ""},
		"unknown preset":    {"fast", storage.Config{}, nil, "invalid storage preset profile string: fast"},
		"missing section":   {"", config("read:\n  pragmas: [a]"), nil, "storage.yaml: exception on parsing sqlite3 config file: it has no section 'write'"},
		"no map":            {"", config("[1, 2]"), nil, "storage.yaml: exception on parsing sqlite3 config file"},
		"semicolon":         {"", config("write:\n  pragmas: [\"journal_mode = WAL; DROP TABLE messages\"]"), nil, "invalid characters in sqlite3 config file"},
		"quote":             {"", config("write:\n  pragmas: [\"encoding = 'UTF-16'\"]"), nil, "invalid characters in sqlite3 config file"},
		"double quote":      {"", config("write:\n  pragmas: ['encoding = \"UTF-16\"']"), nil, "invalid characters in sqlite3 config file"},
		"other sql":         {"", config("write:\n  pragmas: [journal_mode = WAL -- x, 'x y = 1']"), nil, "not a pragma"},
		"value of no sense": {"", config("write:\n  pragmas: ['page_size = = 3']"), nil, "set pragma"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			w, err := Create(path, storage.CreateOptions{Preset: test.preset, Config: test.config})
			if test.refused != "" {
				require.ErrorContains(t, err, test.refused)
				require.NotContains(t, err.Error(), "\n")
				entries, err := os.ReadDir(filepath.Dir(path))
				require.NoError(t, err)
				require.Empty(t, entries)
				return
			}
			require.NoError(t, err)
			for pragma, want := range test.pragmas {
				got, err := w.c.exec("PRAGMA " + pragma)
				require.NoError(t, err)
				require.Equal(t, want, got, pragma)
			}
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			require.NoError(t, w.Write(storagetest.Messages(5, 0)))
			require.NoError(t, w.Seal(nil))
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, entries, 1) // nothing but the file
			require.Len(t, query(t, open(t, path), storage.Query{}), 5)
			require.Empty(t, verifyAll(t, path))
		})
	}
}

func TestReadConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Seal(nil))
	_, err = Open(path, storage.OpenOptions{Config: config("write:\n  pragmas: [a]")})
	require.ErrorContains(t, err, "it has no section 'read'")
	r, err := Open(path, storage.OpenOptions{Config: config("read:\n  pragmas: [\"cache_size = 5\"]")})
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func TestTablesAreThoseOfRosbag2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{ROSDistro: "jazzy", Metadata: []byte("version: 9\nfirst: 1")})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b"} {
		_, err = w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	require.NoError(t, w.Seal([]byte("version: 9\nlast: 1")))
	read := func(path, sql string) []string {
		rows, err := oracle(t, path, "mode=ro&immutable=1").Query(sql)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		var lines []string
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			lines = append(lines, line)
		}
		require.NoError(t, rows.Err())
		return lines
	}
	theirs := filepath.Join(golden, "sqlite3_plain", "sqlite3_plain_0.db3")
	relations := "SELECT type || name || tbl_name || sql FROM sqlite_schema"
	require.Equal(t, read(theirs, relations), read(path, relations))
	require.Equal(t, []string{"4jazzy"}, read(path, "SELECT schema_version || ros_distro FROM schema"))
	require.Equal(t, []string{"9version: 9\nfirst: 1", "9version: 9\nlast: 1\n# this file: {\"start\":0,\"end\":0,\"topics\":[0,0]}\n"},
		read(path, "SELECT metadata_version || metadata FROM metadata ORDER BY id"))
	require.Equal(t, []string{"std_msgs/msg/Stringros2msgstring data\n"},
		read(path, "SELECT topic_type || encoding || encoded_message_definition FROM message_definitions"))
	require.Equal(t, []string{"1/a", "2/b"}, read(path, "SELECT id || name FROM topics ORDER BY id"))
}

func TestTooLargeMessageCostsItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	w.maxMessage = 100
	messages := storagetest.Messages(3, 0)
	messages[1].Data = bytes.Repeat([]byte("x"), 101)
	var rejected *storage.RejectedError
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.Equal(t, []int{1}, rejected.Indexes)
	require.ErrorContains(t, rejected, "1 GB")
	// SQLite's own limit does the same.
	w.maxMessage = maxMessage
	limit := limitLength(w.c, 1000)
	messages[1].Data = bytes.Repeat([]byte("x"), 2000)
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.Equal(t, []int{1}, rejected.Indexes)
	limitLength(w.c, limit)
	require.NoError(t, w.Seal(nil))
	require.Len(t, query(t, open(t, path), storage.Query{}), 4)
}

// A write that fails is final, and names the file and the reason. What was committed stays readable.
func TestFullDisk(t *testing.T) {
	for _, preset := range Format().Presets {
		t.Run(preset, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			w, err := Create(path, storage.CreateOptions{Preset: preset})
			require.NoError(t, err)
			_, err = w.AddTopic(storagetest.Topic("/a"))
			require.NoError(t, err)
			require.NoError(t, w.Write(storagetest.Messages(100, 0)))
			require.NoError(t, w.Flush())
			_, err = w.c.exec("PRAGMA max_page_count = 30") // SQLite's answer is that of a full disk
			require.NoError(t, err)
			messages := storagetest.Messages(100, 0)
			for i := range messages {
				messages[i].Data = make([]byte, 3000)
			}
			var failed error
			for range 10 {
				if failed = w.Write(messages); failed != nil {
					break
				}
			}
			require.ErrorIs(t, failed, syscall.ENOSPC)
			require.Equal(t, "write "+path+": no space left on device", failed.Error())
			require.Equal(t, failed, w.Write(messages))
			require.Equal(t, failed, w.Flush())
			require.Equal(t, failed, w.Seal(nil))
			_, err = w.AddTopic(storagetest.Topic("/b"))
			require.Equal(t, failed, err)
			require.Equal(t, uint64(100), w.Info().MessageCount)
			require.Len(t, w.Info().Topics, 1)
			require.NoError(t, w.Close())
			require.Len(t, query(t, open(t, path), storage.Query{}), 100)
		})
	}
}

func TestSyncBesideWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	var group sync.WaitGroup
	stop := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := w.Sync(); err != nil || w.Size() <= 0 {
					panic(fmt.Sprint("sync: ", err))
				}
			}
		}
	})
	messages := storagetest.Messages(100, 0)
	for i := range messages {
		messages[i].Data = make([]byte, 10_000)
	}
	for range 100 { // 100 MB, so that the log is moved several times
		require.NoError(t, w.Write(messages))
		require.NoError(t, w.Flush())
	}
	close(stop)
	group.Wait()
	require.NoError(t, w.Sync())
	require.NotNil(t, w.durable.mover)
	log, err := os.Stat(path + logSuffix)
	require.NoError(t, err)
	file, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, file.Size(), int64(90<<20))
	require.Positive(t, log.Size())
	require.NoError(t, w.Seal(nil))
	require.NoFileExists(t, path+logSuffix)
	require.NoError(t, w.Sync())
	require.Equal(t, uint64(10_000), open(t, path).Info().MessageCount)
}

func limitLength(c *connection, length int32) int32 {
	return lib.Xsqlite3_limit(c.tls, c.db, lib.SQLITE_LIMIT_LENGTH, length)
}

// TestOffersAreKeptAsTheVersionHasThem asks with SQLite for the columns that rosbag2 of Humble reads.
func TestOffersAreKeptAsTheVersionHasThem(t *testing.T) {
	for version, want := range map[int]string{0: "- history: keep_last\n", 4: "- history: 1\n", 8: "- history: 1\n", 9: "- history: keep_last\n"} {
		path := filepath.Join(t.TempDir(), "x.db3")
		w, err := Create(path, storage.CreateOptions{MetadataVersion: version, Metadata: fmt.Appendf(nil, "version: %d", cmp.Or(version, 9))})
		require.NoError(t, err)
		_, err = w.AddTopic(storagetest.Topic("/a"))
		require.NoError(t, err)
		require.NoError(t, w.Seal(nil))
		c, err := connect(path, "", lib.SQLITE_OPEN_READONLY)
		require.NoError(t, err)
		text, err := c.exec("SELECT offered_qos_profiles FROM topics")
		require.NoError(t, err)
		require.NoError(t, c.close())
		require.True(t, strings.HasPrefix(text, want), "version %d: %s", version, text)
		require.Equal(t, storagetest.Topic("/a"), open(t, path).Info().Topics[0].Topic)
	}
}

// TestASyncThatFailedIsFinal: the system may forget what it could not write, and call the next sync a success.
func TestASyncThatFailedIsFinal(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "x.db3"), storage.CreateOptions{})
	require.NoError(t, err)
	whole := w.durable.file
	broken, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, broken.Close())
	w.durable.file = broken
	require.ErrorIs(t, w.Sync(), os.ErrClosed)
	w.durable.file = whole
	require.ErrorIs(t, w.Sync(), os.ErrClosed)
	require.ErrorIs(t, w.Seal(nil), os.ErrClosed)
	require.NoError(t, w.Close())
}
