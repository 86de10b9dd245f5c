package bag_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

func metadataOf(r *rapid.T) bag.Metadata {
	name := rapid.StringMatching(`[ -~äß温\n]{0,12}`)
	nanos := rapid.Int64Range(1, 1<<62)
	duration := rapid.Map(rapid.Int64Range(0, 1<<62), func(n int64) time.Duration { return time.Duration(n) })
	count := rapid.Uint64Range(1, 1<<40)
	profile := rapid.Custom(func(r *rapid.T) qos.Profile {
		return qos.Profile{
			History: qos.History(rapid.IntRange(0, 3).Draw(r, "history")), Depth: rapid.IntRange(0, 1<<31-1).Draw(r, "depth"),
			Reliability: qos.Reliability(rapid.IntRange(0, 4).Draw(r, "reliability")),
			Durability:  qos.Durability(rapid.IntRange(0, 4).Draw(r, "durability")),
			Liveliness:  qos.Liveliness(rapid.IntRange(0, 5).Draw(r, "liveliness")),
			Deadline:    duration.Draw(r, "deadline"), Lifespan: qos.Infinite,
			AvoidROSNamespaceConventions: rapid.Bool().Draw(r, "avoid"),
		}
	})
	m := bag.Metadata{
		Version: bag.MetadataVersion, StorageID: name.Draw(r, "storage"), StartNanos: nanos.Draw(r, "start"),
		Duration: duration.Draw(r, "duration"), MessageCount: count.Draw(r, "count"),
		ROSDistro: name.Draw(r, "distro"),
	}
	if data := rapid.MapOf(name, name).Draw(r, "custom"); len(data) > 0 {
		m.CustomData = data
	}
	for range rapid.IntRange(0, 3).Draw(r, "topics") {
		topic := storage.TopicInfo{
			Topic: storage.Topic{
				Name: name.Draw(r, "name"), Type: name.Draw(r, "type"), SerializationFormat: "cdr", TypeHash: name.Draw(r, "hash"),
			},
			MessageCount: count.Draw(r, "messages"),
		}
		if offers := rapid.SliceOfN(profile, 0, 2).Draw(r, "offers"); len(offers) > 0 {
			topic.OfferedQoS = offers
		}
		m.Topics = append(m.Topics, topic)
		file := bag.FileInfo{
			Path: name.Draw(r, "path"), StartNanos: nanos.Draw(r, "file start"), Duration: duration.Draw(r, "file duration"),
			MessageCount: count.Draw(r, "file messages"),
		}
		m.Files = append(m.Files, file)
		m.Paths = append(m.Paths, file.Path)
	}
	return m
}

func TestMetadataRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := metadataOf(r)
		whole, err := want.Encode()
		require.NoError(r, err)
		got, err := bag.DecodeMetadata("metadata.yaml", whole)
		require.NoError(r, err)
		require.Equal(r, want, got)
		inner, err := want.EncodeInner()
		require.NoError(r, err)
		got, err = bag.DecodeMetadata("record", inner)
		require.NoError(r, err)
		require.Equal(r, want, got)
	})
}

// TestOlderVersionsRoundTrip: an older version loses what it has no key for, and nothing else.
func TestOlderVersionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := metadataOf(r)
		want.Version = rapid.IntRange(bag.OldestMetadataVersion, bag.MetadataVersion).Draw(r, "version")
		whole, err := want.EncodeVersion(want.Version)
		require.NoError(r, err)
		inner, err := want.EncodeInnerVersion(want.Version)
		require.NoError(r, err)
		if want.Version < 5 {
			want.Files = nil
		}
		if want.Version < 6 {
			want.CustomData = nil
		}
		if want.Version < 7 {
			for i := range want.Topics {
				want.Topics[i].TypeHash = ""
			}
		}
		if want.Version < 8 {
			want.ROSDistro = ""
		}
		for _, text := range [][]byte{whole, inner} {
			got, err := bag.DecodeMetadata("metadata.yaml", text)
			require.NoError(r, err)
			require.Equal(r, want, got)
		}
	})
}

// TestOlderVersionsAsTheirDistrosWroteThem looks at the text: keys by version, QoS as text with numbers.
func TestOlderVersionsAsTheirDistrosWroteThem(t *testing.T) {
	m := bag.Metadata{
		StorageID: "sqlite3", ROSDistro: "humble", CustomData: map[string]string{"a": "b"},
		Files: []bag.FileInfo{{Path: "x.db3"}}, Paths: []string{"x.db3"},
		Topics: []storage.TopicInfo{{Topic: storage.Topic{
			Name: "/a", TypeHash: "RIHS01_00",
			OfferedQoS: []qos.Profile{{History: qos.HistoryUnknown, Reliability: qos.Reliable, Durability: qos.Volatile, Lifespan: qos.Infinite}},
		}}},
	}
	keys := []string{"\n  files:", "custom_data:", "type_description_hash:", "ros_distro:"}
	for version := 4; version <= 9; version++ {
		data, err := m.EncodeVersion(version)
		require.NoError(t, err)
		for i, key := range keys {
			require.Equal(t, version >= 5+i, strings.Contains(string(data), key), "version %d, key %s", version, key)
		}
		const numbers = `offered_qos_profiles: "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n  deadline:\n    sec: 0\n    nsec: 0\n  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n`
		require.Equal(t, version < 9, strings.Contains(string(data), numbers), string(data))
		require.Equal(t, version == 9, strings.Contains(string(data), "history: unknown"))
	}
	for _, version := range []int{3, 10} {
		_, err := m.EncodeVersion(version)
		require.ErrorIs(t, err, storage.ErrUnsupported)
		_, err = bag.Create(filepath.Join(t.TempDir(), "x"), bag.WriterOptions{MetadataVersion: version})
		require.ErrorContains(t, err, "known for writing: 4 to 9")
	}
}

// TestWriterOfAnOlderVersion writes it everywhere: to metadata.yaml, and into the file.
func TestWriterOfAnOlderVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{MetadataVersion: 5, ROSDistro: "humble"})
	require.NoError(t, w.Seal())
	data, err := os.ReadFile(filepath.Join(path, bag.MetadataName))
	require.NoError(t, err)
	require.Contains(t, string(data), "version: 5")
	_, info := fileMessages(t, filepath.Join(path, "demo_0.mcap"))
	require.Contains(t, string(info.Metadata), "version: 5")
	require.Contains(t, string(info.Metadata), `offered_qos_profiles: "- history: 1`)
	content, err := os.ReadFile(filepath.Join(path, "demo_0.mcap"))
	require.NoError(t, err)
	require.NotContains(t, string(content), "keep_last", "the channel has numbers too")
}

func TestEmptyBagHasTheMarkOfRosbag2(t *testing.T) {
	data, err := bag.Metadata{StorageID: "mcap"}.Encode()
	require.NoError(t, err)
	require.Contains(t, string(data), "nanoseconds_since_epoch: 9223372036854775807")
	m, err := bag.DecodeMetadata("x", data)
	require.NoError(t, err)
	require.Zero(t, m.StartNanos)
}

func TestOldVersionsAreRead(t *testing.T) {
	const base = `rosbag2_bagfile_information:
  version: VERSION
  storage_identifier: sqlite3
  relative_file_paths: [bag/bag_0.db3]
  duration: {nanoseconds: 12}
  starting_time: {nanoseconds_since_epoch: 34}
  message_count: 5
  topics_with_message_count:
    - topic_metadata: {name: /a, type: std_msgs/msg/String, serialization_format: cdrQOS}
      message_count: 5
`
	profile := `- history: 1\n  depth: 7\n  reliability: 2\n  durability: 1\n  deadline:\n    sec: 2147483647\n    nsec: 4294967295\n`
	tests := map[string]struct{ version, qos, more string }{
		"1":           {"1", "", ""},
		"3":           {"3", "", "  compression_format: zstd\n  compression_mode: file\n"},
		"4":           {"4", `, offered_qos_profiles: "` + profile + `"`, "  compression_mode: NONE\n"},
		"8, null":     {"8", `, offered_qos_profiles: ""`, "  custom_data: ~\n  ros_distro: rolling\n"},
		"9":           {"9", `, offered_qos_profiles: [{history: keep_last, depth: 7, reliability: best_effort, durability: transient_local, deadline: {sec: 9223372036, nsec: 854775807}}]`, ""},
		"later, more": {"12", `, offered_qos_profiles: []`, "  something_new: {a: 1}\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("VERSION", test.version, "QOS", test.qos).Replace(base) + test.more
			m, err := bag.DecodeMetadata("metadata.yaml", []byte(text))
			require.NoError(t, err)
			require.Equal(t, int64(34), m.StartNanos)
			require.Equal(t, uint64(5), m.Topics[0].MessageCount)
			require.Equal(t, []string{"bag/bag_0.db3"}, m.Paths)
			if strings.Contains(test.qos, "deadline") {
				require.Equal(t, []qos.Profile{{
					History: qos.KeepLast, Depth: 7, Reliability: qos.BestEffort, Durability: qos.TransientLocal,
					Deadline: qos.Infinite,
				}}, m.Topics[0].OfferedQoS)
			} else {
				require.Empty(t, m.Topics[0].OfferedQoS)
			}
			if name == "3" {
				require.Equal(t, bag.CompressionFile, m.CompressionMode)
			} else {
				require.Empty(t, m.CompressionMode)
			}
		})
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte("rosbag2_bagfile_information:\n  version: 9\n  custom_data: {a: b}\n  topics_with_message_count: [{}]\n"))
	f.Add([]byte("version: 5\nfiles: [{path: a}]\nstarting_time: {nanoseconds_since_epoch: 18446744073709551615}\n"))
	for _, pattern := range []string{"testdata/metadata/*.yaml", "testdata/rosbag2/*_zstd/metadata.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(f, err)
		require.NotEmpty(f, paths)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		m, err := bag.DecodeMetadata("x", data)
		require.Less(t, allocated()-before, uint64(50<<20+10_000*len(data)))
		if err != nil {
			require.ErrorIs(t, err, bag.ErrMetadata)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		encoded, err := m.Encode()
		require.NoError(t, err)
		_, err = bag.DecodeMetadata("x", encoded)
		require.NoError(t, err)
	})
}
