package bag_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// infinite is a profile without deadlines, as discovery tells it.
func infinite(reliability qos.Reliability, durability qos.Durability) qos.Profile {
	return qos.Profile{
		History: qos.HistoryUnknown, Reliability: reliability, Durability: durability, Deadline: qos.Infinite, Lifespan: qos.Infinite,
		Liveliness: qos.Automatic, LivelinessLeaseDuration: qos.Infinite,
	}
}

func topicOf(name, typ string, messages uint64, offers ...qos.Profile) storage.TopicInfo {
	return storage.TopicInfo{
		Topic: storage.Topic{Name: name, Type: typ, SerializationFormat: "cdr", OfferedQoS: offers}, MessageCount: messages,
	}
}

// TestMetadataOfEveryVersion reads files that were written by hand after the layout that each version has; no tool
// writes them any more.
func TestMetadataOfEveryVersion(t *testing.T) {
	const text = "std_msgs/msg/String"
	connext := infinite(qos.Reliable, qos.Volatile)
	connext.History, connext.Depth, connext.AvoidROSNamespaceConventions = qos.KeepLast, 10, true
	timed := infinite(qos.Reliable, qos.TransientLocal)
	timed.Deadline, timed.Lifespan, timed.Liveliness = 0, 1500*time.Millisecond, qos.ManualByTopic
	timed.LivelinessLeaseDuration = 2 * time.Second
	hashed := topicOf("/chatter", text, 2, qos.Profile{
		History: qos.KeepLast, Depth: 7, Reliability: qos.ReliabilityBestAvailable, Durability: qos.DurabilityBestAvailable,
		Liveliness: qos.LivelinessBestAvailable,
	})
	hashed.TypeHash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
	unknown := infinite(qos.ReliabilityUnknown, qos.DurabilityUnknown)
	unknown.History, unknown.Deadline, unknown.Liveliness = qos.KeepAll, 100*time.Millisecond, qos.LivelinessUnknown
	future := infinite(qos.Reliable, qos.DurabilityUnknown)
	future.History, future.Depth, future.Deadline = qos.KeepLast, 5, 0
	later := topicOf("/chatter", text, 4, future, future)
	later.TypeHash = "RIHS02_aa"

	for name, want := range map[string]bag.Metadata{
		"v1_dashing": {
			Version: 1, StorageID: "sqlite3", StartNanos: 1558900000123456789, Duration: 4000000001, MessageCount: 5,
			Topics: []storage.TopicInfo{topicOf("/chatter", text, 5)}, Paths: []string{"talker.db3"},
		},
		"v2_eloquent": {
			Version: 2, StorageID: "sqlite3", StartNanos: 1579082400000000000, Duration: 9 * time.Second, MessageCount: 12,
			Topics: []storage.TopicInfo{topicOf("/scan", "sensor_msgs/msg/LaserScan", 12), topicOf("/rosout", "rcl_interfaces/msg/Log", 0)},
			Paths: []string{
				"rosbag2_2020_01_15-10_00_00/rosbag2_2020_01_15-10_00_00_0.db3",
				"rosbag2_2020_01_15-10_00_00/rosbag2_2020_01_15-10_00_00_1.db3",
			},
		},
		"v3_compressed": {
			Version: 3, StorageID: "sqlite3", StartNanos: 1585000000000000001, Duration: 1500 * time.Millisecond, MessageCount: 3,
			Topics: []storage.TopicInfo{topicOf("/odom", "nav_msgs/msg/Odometry", 3)}, Paths: []string{"drive/drive_0.db3.zstd"},
			CompressionFormat: "zstd", CompressionMode: bag.CompressionFile,
		},
		"v4_foxy": {
			Version: 4, StorageID: "sqlite3", StartNanos: 1600000000500000000, Duration: 2 * time.Second, MessageCount: 6,
			Topics: []storage.TopicInfo{
				topicOf("/cyclone", text, 1, infinite(qos.Reliable, qos.Volatile)),
				topicOf("/fastrtps", text, 2, infinite(qos.BestEffort, qos.TransientLocal)),
				topicOf("/connext", text, 3, connext), topicOf("/nobody", text, 0),
			},
			Paths: []string{"drive_0.db3"},
		},
		"v5_humble": {
			Version: 5, StorageID: "sqlite3", StartNanos: 1656000000000000000, Duration: 61 * time.Second, MessageCount: 9,
			Topics: []storage.TopicInfo{topicOf("/tf_static", "tf2_msgs/msg/TFMessage", 9, infinite(qos.Reliable, qos.TransientLocal), timed)},
			Paths:  []string{"drive_0.db3", "drive_1.db3"},
			Files: []bag.FileInfo{
				{Path: "drive_0.db3", StartNanos: 1656000000000000000, Duration: time.Minute, MessageCount: 8},
				{Path: "drive_1.db3", StartNanos: 1656000061000000000, MessageCount: 1},
			},
		},
		"v6_empty": {
			Version: 6, StorageID: "mcap", Paths: []string{"drive_0.mcap"}, Files: []bag.FileInfo{{Path: "drive_0.mcap"}},
			CustomData: map[string]string{"robot": "7", "note": "two\nlines"},
		},
		"v7_iron": {
			Version: 7, StorageID: "mcap", StartNanos: 1690000000000000000, Duration: 3, MessageCount: 2, Topics: []storage.TopicInfo{hashed},
			CompressionFormat: "zstd", CompressionMode: bag.CompressionMessage, Paths: []string{"drive_0.mcap"},
			Files: []bag.FileInfo{{Path: "drive_0.mcap", StartNanos: 1690000000000000000, Duration: 3, MessageCount: 2}},
		},
		"v8_rolling": {
			Version: 8, StorageID: "mcap", StartNanos: 1700000000000000000, Duration: 10, MessageCount: 1,
			Topics: []storage.TopicInfo{topicOf("/chatter", text, 1, unknown)}, Paths: []string{"drive_0.mcap"},
			Files:     []bag.FileInfo{{Path: "drive_0.mcap", StartNanos: 1700000000000000000, Duration: 10, MessageCount: 1}},
			ROSDistro: "rolling",
		},
		"v12_future": {
			Version: 12, StorageID: "mcap", StartNanos: 1900000000000000000, MessageCount: 4, Topics: []storage.TopicInfo{later},
			Paths: []string{"drive_0.mcap"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "metadata", name+".yaml")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			got, err := bag.DecodeMetadata(path, data)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

// TestHostileMetadata ends soon, with one line.
func TestHostileMetadata(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + strings.Join(strings.Split(strings.Repeat(p, 10), ""), ",*") + "]\n"
	}
	for name, text := range map[string]string{
		"aliases of aliases": bomb + "version: 9\ntopics_with_message_count: *i\n",
		"in offers":          bomb + "version: 9\ntopics_with_message_count: [{topic_metadata: {offered_qos_profiles: *i}}]\n",
		"in custom data":     bomb + "version: 9\ncustom_data: {a: *i}\n",
		"nested":             "version: 9\nfiles: " + strings.Repeat("[", 100_000),
		"text in text":       "version: 9\ntopics_with_message_count: [{topic_metadata: {offered_qos_profiles: '" + strings.Repeat(`"`, 9000) + "'}}]\n",
		"no map":             "- 1\n",
		"nothing":            "",
		"not text":           "\x00\x01\x02",
	} {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			_, err := bag.DecodeMetadata("metadata.yaml", []byte(text))
			require.ErrorIs(t, err, bag.ErrMetadata)
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 1000)
			require.Less(t, allocated()-before, uint64(100<<20))
		})
	}
}
