package bag_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

const oldBags = "testdata/old"

// oldBag is what is in a bag of an old version of rosbag2. Neither rosbag2 nor others write these any more, so the
// metadata in testdata and the tables here are made by hand.
type oldBag struct {
	Of           string
	SQLiteSchema int `json:"sqlite_schema"`
	Start        int64
	Duration     time.Duration
	Messages     uint64
	Topics       map[string]oldTopic
	CustomData   map[string]string `json:"custom_data"`
	ROSDistro    string            `json:"ros_distro"`
	Definition   string
}

type oldTopic struct {
	Type     string
	Messages uint64
	Offers   []oldOffer
	Hash     string
}

type oldOffer struct {
	History, Reliability, Durability, Liveliness string
	Deadline, Lifespan, Lease                    time.Duration
}

// oldTables are the statements with which each version of the plugin made its tables.
var oldTables = map[int][]string{
	1: {
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL)",
	},
	2: {
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)",
	},
	3: {
		"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)",
		"CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL)",
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)",
		"INSERT INTO schema VALUES (3, 'humble')",
	},
	4: {
		"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)",
		"CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL)",
		"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL)",
		"CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL)",
		"INSERT INTO schema VALUES (4, 'iron')",
	},
}

const oldHash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"

// oldOffers is what the table of topics has: a list of one profile with numbers, as yaml-cpp wrote it.
func oldOffers(durability int) string {
	infinite := "    sec: 9223372036\n    nsec: 854775807\n"
	return fmt.Sprintf("- history: 3\n  depth: 0\n  reliability: 1\n  durability: %d\n  deadline:\n%s  lifespan:\n%s"+
		"  liveliness: 1\n  liveliness_lease_duration:\n%s  avoid_ros_namespace_conventions: false", durability, infinite, infinite, infinite)
}

// makeOldFile makes a database of a schema version with ten messages: /words, and in between /map.
func makeOldFile(t *testing.T, path string, schema int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	exec := func(statement string, values ...any) {
		_, err := db.Exec(statement, values...)
		require.NoError(t, err, statement)
	}
	for _, statement := range oldTables[schema] {
		exec(statement)
	}
	exec("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)")
	exec("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
	for i, name := range []string{"/words", "/map", "/never"} {
		values := []any{i + 1, name, "std_msgs/msg/String", "cdr"}
		if schema >= 2 {
			values = append(values, []string{oldOffers(2), oldOffers(1), ""}[i])
		}
		if schema >= 4 {
			values = append(values, oldHash)
		}
		places := "?" + string(slices.Repeat([]byte(", ?"), len(values)-1))
		exec("INSERT INTO topics VALUES ("+places+")", values...)
	}
	if schema >= 4 {
		exec("INSERT INTO message_definitions VALUES (1, 'std_msgs/msg/String', 'ros2msg', 'string data', ?)", oldHash)
	}
	for i := range 10 {
		topic := 1
		if i%3 == 1 {
			topic = 2
		}
		exec("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)", topic,
			1_600_000_000_000_000_000+int64(i)*1_000_000, oldPayload(i))
	}
	require.NoError(t, db.Close())
}

func oldPayload(i int) []byte { return []byte{0, 1, 0, 0, 2, 0, 0, 0, byte('0' + i), 0} }

func oldVersions(t *testing.T) map[string]oldBag {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oldBags, "expected.json"))
	require.NoError(t, err)
	var all map[string]oldBag
	require.NoError(t, json.Unmarshal(data, &all))
	require.Len(t, all, 8)
	return all
}

// TestOldBags reads bags of every version: as they were, moved, without metadata.yaml, and reindexed.
func TestOldBags(t *testing.T) {
	versions := oldVersions(t)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		want := versions[name]
		t.Run(name+" of "+want.Of, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "old")
			require.NoError(t, os.Mkdir(directory, 0o700))
			makeOldFile(t, filepath.Join(directory, "old_0.db3"), want.SQLiteSchema)
			text, err := os.ReadFile(filepath.Join(oldBags, name+".yaml"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(directory, bag.MetadataName), text, 0o600))
			requireOld(t, directory, &want)

			moved := filepath.Join(filepath.Dir(directory), "moved away")
			require.NoError(t, os.Rename(directory, moved))
			requireOld(t, moved, &want)

			// Reindexing keeps what only metadata.yaml has, and its version from 4 on.
			result := reindex(t, moved, bag.ReindexOptions{})
			require.False(t, result.Lost)
			if want.SQLiteSchema >= 3 && want.ROSDistro == "" {
				want.ROSDistro = map[int]string{3: "humble", 4: "iron"}[want.SQLiteSchema]
			}
			if want.SQLiteSchema == 4 && result.Metadata.Version >= 8 {
				want.ROSDistro = "iron" // what the file says
			}
			encoded := want
			if result.Metadata.Version < 8 {
				encoded.ROSDistro = ""
			}
			requireOld(t, moved, &encoded)

			require.NoError(t, os.Remove(filepath.Join(moved, bag.MetadataName)))
			alone := want
			alone.CustomData = nil // only metadata.yaml had it
			requireOld(t, moved, &alone)
		})
	}
}

func requireOld(t *testing.T, directory string, want *oldBag) {
	t.Helper()
	r := open(t, directory)
	m := r.Metadata()
	require.Equal(t, "sqlite3", m.StorageID)
	require.Equal(t, want.Messages, m.MessageCount)
	require.Equal(t, want.Start, m.StartNanos)
	require.Equal(t, want.Duration, m.Duration)
	require.Equal(t, want.CustomData, m.CustomData)
	require.Equal(t, want.ROSDistro, m.ROSDistro)
	require.Len(t, r.Topics(), len(want.Topics))
	for id, topic := range r.Topics() {
		wanted := want.Topics[topic.Name]
		got := oldTopic{Type: topic.Type, Messages: topic.MessageCount, Offers: []oldOffer{}, Hash: topic.TypeHash}
		for _, offer := range topic.OfferedQoS {
			got.Offers = append(got.Offers, oldOffer{
				History: offer.History.String(), Reliability: offer.Reliability.String(), Durability: offer.Durability.String(),
				Liveliness: offer.Liveliness.String(), Deadline: offer.Deadline, Lifespan: offer.Lifespan,
				Lease: offer.LivelinessLeaseDuration,
			})
		}
		require.Equal(t, wanted, got, topic.Name)
		definition, err := r.Definition(storage.TopicID(id))
		require.NoError(t, err)
		require.Equal(t, want.Definition, definition.Text)
	}
	for i, m := range read(t, r, bag.Query{}) {
		require.Equal(t, oldPayload(i), m.Data)
		require.Equal(t, want.Start+int64(i)*1_000_000, m.LogTimeNanos)
		require.Equal(t, m.LogTimeNanos, m.PublishTimeNanos)
	}
	require.Empty(t, r.Notes())
}
