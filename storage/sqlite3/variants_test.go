package sqlite3

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// TestAnyDatabaseReadsAsSQLiteReadsIt makes databases of all shapes with SQLite and compares.
func TestAnyDatabaseReadsAsSQLiteReadsIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		directory, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(t, err)
		path := filepath.Join(directory, "x.db3")
		db := oracle(t, path, "mode=rwc")
		version := rapid.IntRange(1, 5).Draw(rt, "schema version")
		makeTables(t, db, version,
			fmt.Sprintf("PRAGMA page_size=%d", 512<<rapid.IntRange(0, 7).Draw(rt, "page size")),
			fmt.Sprintf("PRAGMA encoding='%s'", rapid.SampledFrom([]string{"UTF-8", "UTF-16le", "UTF-16be"}).Draw(rt, "encoding")),
			fmt.Sprintf("PRAGMA auto_vacuum=%d", rapid.IntRange(0, 2).Draw(rt, "auto vacuum")), "PRAGMA synchronous=OFF")
		if rapid.Bool().Draw(rt, "without index") {
			_, err := db.Exec("DROP INDEX timestamp_idx")
			require.NoError(t, err)
		}
		columns := []string{"topics(id, name, type, serialization_format)", "topics(id, name, type, serialization_format, offered_qos_profiles)"}
		for topic := 1; topic <= 3; topic++ {
			values := fmt.Sprintf("(%d, '/größe_%d', 'std_msgs/msg/String', 'cdr'", topic, topic)
			switch {
			case version == 1:
				_, err = db.Exec("INSERT INTO " + columns[0] + " VALUES " + values + ")")
			case version < 4:
				_, err = db.Exec("INSERT INTO " + columns[1] + " VALUES " + values + ", '')")
			default:
				_, err = db.Exec("INSERT INTO topics VALUES " + values + ", '', 'RIHS01_x')")
			}
			require.NoError(t, err)
		}
		for range rapid.IntRange(0, 6).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1, 2:
				rows := rapid.IntRange(1, 60).Draw(rt, "rows")
				size := rapid.SampledFrom([]int{0, 1, 40, 400, 3000, 70_000}).Draw(rt, "size")
				tx, err := db.Begin()
				require.NoError(t, err)
				for range rows {
					data := make([]byte, rapid.IntRange(0, size).Draw(rt, "length"))
					for i := range data {
						data[i] = byte(i * 7)
					}
					_, err := tx.Exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)",
						rapid.IntRange(1, 3).Draw(rt, "topic"), rapid.Int64Range(-3, 40).Draw(rt, "time"), data)
					require.NoError(t, err)
				}
				require.NoError(t, tx.Commit())
			case 3:
				_, err = db.Exec("DELETE FROM messages WHERE id % 3 = ?", rapid.IntRange(0, 2).Draw(rt, "deleted"))
			case 4:
				_, err = db.Exec("VACUUM")
			case 5:
				_, err = db.Exec("INSERT INTO messages VALUES (?, 1, 5, x'')", rapid.Int64().Draw(rt, "id"))
				if err != nil {
					err = nil // the id is taken
				}
			}
			require.NoError(t, err)
		}
		require.NoError(t, db.Close())
		compareWithSQLite(t, path)
	})
}

func compareWithSQLite(t testing.TB, path string) {
	t.Helper()
	r, err := Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	want := selectAll(t, path, "ORDER BY timestamp, messages.id")
	require.Empty(t, r.Info().Damage)
	require.Equal(t, want, texts(r, query(t, r, storage.Query{})))
	require.Equal(t, selectAll(t, path, "ORDER BY messages.id"), texts(r, query(t, r, storage.Query{Order: storage.ByFile})))
	info := r.Info()
	require.Empty(t, info.Damage)
	require.Equal(t, uint64(len(want)), info.MessageCount)
	if len(want) > 0 {
		require.Equal(t, want[0].nanos, info.StartNanos)
		require.Equal(t, want[len(want)-1].nanos, info.EndNanos)
	}
	until := storage.Query{FromNanos: 7, UntilNanos: 20, HasUntil: true, Topics: []storage.TopicID{1}}
	inside := slices.DeleteFunc(slices.Clone(want), func(l line) bool {
		return l.nanos < 7 || l.nanos > 20 || !strings.HasSuffix(l.topic, "_2")
	})
	require.Equal(t, len(inside), len(query(t, r, until)))
	for i, l := range texts(r, query(t, r, until)) {
		require.Equal(t, inside[i], l)
	}
}

// offers is a profile in the words of each version.
const (
	offersNumbers = "- history: 1\n  depth: 5\n  reliability: 1\n  durability: 2\n  deadline:\n    sec: 2147483647\n" +
		"    nsec: 4294967295\n  lifespan:\n    sec: 0\n    nsec: 0\n  liveliness: 1\n  liveliness_lease_duration:\n" +
		"    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: false"
	offersWords = "- history: keep_last\n  depth: 5\n  reliability: reliable\n  durability: volatile\n  deadline:\n" +
		"    sec: 9223372036\n    nsec: 854775807\n  lifespan:\n    sec: 0\n    nsec: 0\n  liveliness: automatic\n" +
		"  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: false"
)

func TestSchemaVersions(t *testing.T) {
	profile := []qos.Profile{{
		History: qos.KeepLast, Depth: 5, Reliability: qos.Reliable, Durability: qos.Volatile, Deadline: qos.Infinite,
		Liveliness: qos.Automatic, LivelinessLeaseDuration: qos.Infinite,
	}}
	topic := storage.Topic{Name: "/a", Type: "std_msgs/msg/String", SerializationFormat: "cdr"}
	with := func(change func(*storage.Topic)) storage.Topic {
		result := topic
		change(&result)
		return result
	}
	definition := "INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition, type_description_hash) "
	tests := map[string]struct {
		version int
		rows    []string
		topic   storage.Topic
		distro  string
	}{
		"1 dashing": {1, []string{"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr')"}, topic, ""},
		"2 foxy": {
			2,
			[]string{"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr', '" + offersNumbers + "')"},
			with(func(t *storage.Topic) { t.OfferedQoS = profile }), "",
		},
		"3 humble, empty metadata table": {
			3,
			[]string{"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr', '" + offersNumbers + "')"},
			with(func(t *storage.Topic) { t.OfferedQoS = profile }), "humble",
		},
		"4 jazzy": {
			4,
			[]string{
				"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr', '" + offersWords + "', 'RIHS01_1')",
				definition + "VALUES ('std_msgs/msg/String', 'ros2msg', 'string data', 'RIHS01_1')",
			},
			with(func(t *storage.Topic) {
				t.OfferedQoS, t.TypeHash = profile, "RIHS01_1"
				t.Definition = storage.Definition{Encoding: "ros2msg", Text: "string data"}
			}), "rolling",
		},
		"4 without a definition": {
			4, []string{
				"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr', '', '')",
				definition + "VALUES ('std_msgs/msg/String', 'unknown', '', '')",
			}, topic, "rolling",
		},
		"5 newer, with more columns": {
			5,
			[]string{
				"INSERT INTO topics VALUES (7, '/a', 'std_msgs/msg/String', 'cdr', 'not: [a list', 'RIHS01_1')",
				"ALTER TABLE topics ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'",
				"ALTER TABLE messages ADD COLUMN send_timestamp INTEGER NOT NULL DEFAULT 0",
				"INSERT INTO messages VALUES (NULL, 7, 12, x'0003', 11)",
			},
			with(func(t *storage.Topic) { t.TypeHash = "RIHS01_1" }), "rolling",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			db := oracle(t, path, "mode=rwc")
			makeTables(t, db, test.version)
			for _, row := range append([]string{
				"INSERT INTO messages VALUES (1, 7, 11, x'0002')", "INSERT INTO messages VALUES (2, 7, 10, x'0001')",
			}, test.rows...) {
				_, err := db.Exec(row)
				require.NoError(t, err)
			}
			require.NoError(t, db.Close())
			r := open(t, path)
			info := r.Info()
			require.Equal(t, test.topic, info.Topics[0].Topic)
			require.Equal(t, test.distro, info.ROSDistro)
			require.Empty(t, info.Damage)
			got := query(t, r, storage.Query{})
			require.Equal(t, storage.Message{LogTimeNanos: 10, PublishTimeNanos: 10, Data: []byte{0, 1}}, got[0])
			require.Equal(t, storage.Message{LogTimeNanos: 11, PublishTimeNanos: 11, Data: []byte{0, 2}}, got[1])
			require.Equal(t, info.MessageCount, uint64(len(got)))
		})
	}
}

func TestWindowsOfAFileWithoutIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	db := oracle(t, path, "mode=rwc")
	makeTables(t, db, 4, "PRAGMA synchronous=OFF", "PRAGMA journal_mode=OFF")
	_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
	require.NoError(t, err)
	_, err = db.Exec("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999) " +
		"INSERT INTO messages (topic_id, timestamp, data) SELECT 1, i * 7919 % 1000, x'00' FROM n")
	require.NoError(t, err)
	_, err = db.Exec("DROP INDEX timestamp_idx")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	r := open(t, path)
	require.NoError(t, r.db.read(func(s *snapshot, _ int) error {
		p := s.reader()
		w := newWindowSource(&tableScanner{p: p, layout: &r.messages, cursor: p.table(r.messages.root)},
			key{100, 3}, true, 899)
		w.limit = 64
		last, n := key{100, 3}, 0
		for {
			_, _, row, k, err := w.next()
			if err != nil {
				break
			}
			require.True(t, last.less(k))
			require.Equal(t, k.nanos, row.nanos)
			last = k
			n++
		}
		require.Equal(t, key{899, last.id}, last)
		want := 0
		for i := range 5000 {
			k := key{int64(i * 7919 % 1000), int64(i + 1)}
			if (key{100, 3}).less(k) && k.nanos <= 899 {
				want++
			}
		}
		require.Equal(t, want, n)
		return nil
	}))
	require.Len(t, query(t, r, storage.Query{}), 5000)
}

// Free pages keep what was in them, also where the next page of a payload was.
func TestPagesThatWereUsedBefore(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "x.db3")
		db := oracle(t, path, "mode=rwc")
		makeTables(t, db, 4, "PRAGMA page_size=512", "PRAGMA synchronous=OFF")
		_, err := db.Exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', '', '')")
		require.NoError(t, err)
		for n := range 60 {
			_, err := db.Exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, randomblob(?))", n, 100+random.IntN(3000))
			require.NoError(t, err)
			if n%20 == 19 {
				_, err = db.Exec("DELETE FROM messages WHERE id % 3 = ?", random.IntN(3))
				require.NoError(t, err)
			}
		}
		require.NoError(t, db.Close())
		compareWithSQLite(t, path)
	}
}
