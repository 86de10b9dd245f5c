package bag_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
	"rosbagd/storage/storagetest"
)

func reindex(t *testing.T, directory string, options bag.ReindexOptions) *bag.Reindexed {
	t.Helper()
	result, err := bag.Reindex(context.Background(), directory, options)
	require.NoError(t, err)
	return result
}

func metadataText(t *testing.T, directory string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, bag.MetadataName))
	require.NoError(t, err)
	return string(text)
}

func names(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// noEndMark is a bag whose compressed file lacks its last few bytes, which costs no message.
const noEndMark = "sqlite3_file_zstd_no_end_frame"

func TestReindexMakesTheMetadataOfRosbag2(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(described(t))) {
		t.Run(name, func(t *testing.T) {
			directory := copyBag(t, name)
			correct(t, directory)
			before, want := names(t, directory), metadataText(t, directory)

			result := reindex(t, directory, bag.ReindexOptions{})
			require.False(t, result.Changed, "what is right is not written again")
			require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
			result = reindex(t, directory, bag.ReindexOptions{})
			require.True(t, result.Changed)
			require.False(t, result.Lost)
			requireNotes(t, name, result.Notes)
			require.Equal(t, want, metadataText(t, directory))
			require.Equal(t, before, names(t, directory))
		})
	}
}

// record writes a bag of our own: two topics with messages, one without, and a late offer and custom value.
func record(t *testing.T, options bag.WriterOptions, messages, files int) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "demo")
	options.ROSDistro, options.CustomData = "jazzy", map[string]string{"robot": "7"}
	w, err := bag.Create(directory, options)
	require.NoError(t, err)
	seal := run(t, w)
	for _, name := range []string{"/z", "/never", "/a"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	per := messages / files
	for i, m := range slices.Collect(slices.Chunk(storagetest.Messages(messages, 0, 2), per)) {
		if i > 0 {
			_, _, err := w.Split()
			require.NoError(t, err)
		}
		require.NoError(t, w.Write(m))
	}
	require.NoError(t, w.UpdateTopic(1, append(storagetest.Topic("/never").OfferedQoS, qos.Default())))
	w.SetCustomData("rosbagd.lost./z", "dropped 1")
	seal()
	return directory
}

func TestReindexMakesOurMetadata(t *testing.T) {
	for name, options := range map[string]bag.WriterOptions{
		"mcap": {}, "mcap zstd": {Preset: "zstd_fast"}, "mcap version 5": {MetadataVersion: 5},
		"mcap by file": {CompressionMode: bag.CompressionFile}, "mcap by message": {CompressionMode: bag.CompressionMessage},
		"mcap named by time": {FileNames: bag.NamesByTime}, "sqlite3": {StorageID: "sqlite3"},
		"sqlite3 by file":    {StorageID: "sqlite3", CompressionMode: bag.CompressionFile},
		"sqlite3 by message": {StorageID: "sqlite3", CompressionMode: bag.CompressionMessage},
		"sqlite3 version 7":  {StorageID: "sqlite3", MetadataVersion: 7},
	} {
		for _, files := range []int{1, 3, 12} {
			t.Run(fmt.Sprint(name, " in ", files), func(t *testing.T) {
				directory := record(t, options, 240, files)
				want := metadataText(t, directory)
				require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
				require.False(t, reindex(t, directory, bag.ReindexOptions{}).Lost)
				require.Equal(t, want, metadataText(t, directory))
			})
		}
	}
}

func TestReindexTakesAnyNames(t *testing.T) {
	directory := record(t, bag.WriterOptions{}, 240, 12)
	before := open(t, directory).Metadata()
	for name, naming := range map[string]func(n int) string{
		"numbers not padded":    func(n int) string { return fmt.Sprintf("other_%d.mcap", n) },
		"Lyrical":               func(n int) string { return fmt.Sprintf("%d_demo_2026_05_01-12_00_%02d.mcap", n, (7*n)%60) },
		"words":                 func(n int) string { return fmt.Sprintf("%c take.bag.mcap", 'z'-rune(n)) },
		"another extension":     func(n int) string { return fmt.Sprintf("part%d", 12-n) },
		"numbers that go round": func(n int) string { return fmt.Sprintf("x_%d.mcap", (n+5)%12) },
	} {
		t.Run(name, func(t *testing.T) {
			renamed := t.TempDir()
			var want []string
			for i, path := range before.Paths {
				want = append(want, naming(i))
				require.NoError(t, os.Link(filepath.Join(directory, path), filepath.Join(renamed, naming(i))))
			}
			after := reindex(t, renamed, bag.ReindexOptions{}).Metadata
			require.Equal(t, want, after.Paths)
			require.Equal(t, before.Duration, after.Duration)
			require.Equal(t, before.StartNanos, after.StartNanos)
			require.Equal(t, before.Topics, after.Topics)
			require.Equal(t, before.CustomData, after.CustomData)
		})
	}
}

func TestReindexKeepsThePlaceOfAFileWithoutMessages(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "demo")
	w := create(t, directory, bag.WriterOptions{})
	seal := run(t, w)
	messages := storagetest.Messages(20, 0)
	require.NoError(t, w.Write(messages[:10]))
	for range 2 {
		_, _, err := w.Split()
		require.NoError(t, err)
	}
	require.NoError(t, w.Write(messages[10:]))
	seal()
	want := metadataText(t, directory)
	require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
	reindex(t, directory, bag.ReindexOptions{})
	require.Equal(t, want, metadataText(t, directory))
}

// humbleFile writes a file as rosbag2 of Humble does: no copy of the metadata, no type hash, offers as numbers.
func humbleFile(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := mcaplib.NewWriter(file, &mcaplib.WriterOptions{Chunked: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "ros2"}))
	require.NoError(t, w.WriteMetadata(&mcaplib.Metadata{Name: "rosbag2", Metadata: map[string]string{"ROS_DISTRO": "humble"}}))
	require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 1, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data")}))
	require.NoError(t, w.WriteChannel(&mcaplib.Channel{
		ID: 0, SchemaID: 1, Topic: "/a", MessageEncoding: "cdr",
		Metadata: map[string]string{"offered_qos_profiles": qos.EncodeText(storagetest.Topic("/a").OfferedQoS, 5)},
	}))
	for i := range 10 {
		payload := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, uint32(i))
		require.NoError(t, w.WriteMessage(&mcaplib.Message{LogTime: uint64(1000 + i), PublishTime: uint64(1000 + i), Data: payload}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
}

func TestReindexTakesFromTheOldMetadataWhatFilesDoNotKeep(t *testing.T) {
	directory := t.TempDir()
	humbleFile(t, filepath.Join(directory, "old_0.mcap"))
	never := storage.TopicInfo{Topic: storagetest.Topic("/never"), MessageCount: 3}
	never.Definition = storage.Definition{}
	known := storage.TopicInfo{Topic: storage.Topic{
		Name: "/a", Type: "std_msgs/msg/String", SerializationFormat: "cdr", TypeHash: "RIHS01_00",
	}, MessageCount: 99}
	old := bag.Metadata{
		StorageID: "mcap", MessageCount: 99, Topics: []storage.TopicInfo{never, known},
		Paths: []string{"gone.mcap"}, CustomData: map[string]string{"k": "v"}, ROSDistro: "iron",
	}
	text, err := old.EncodeVersion(7)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, bag.MetadataName), text, 0o600))

	result := reindex(t, directory, bag.ReindexOptions{})
	require.False(t, result.Lost)
	m := result.Metadata
	require.Equal(t, 7, m.Version, "who reads that version still can")
	require.Equal(t, []string{"old_0.mcap"}, m.Paths)
	require.Equal(t, uint64(10), m.MessageCount)
	require.Equal(t, "humble", m.ROSDistro, "files know better")
	require.Equal(t, map[string]string{"k": "v"}, m.CustomData)
	require.Len(t, m.Topics, 2)
	require.Equal(t, "/never", m.Topics[0].Name)
	require.Zero(t, m.Topics[0].MessageCount)
	require.Equal(t, "RIHS01_00", m.Topics[1].TypeHash)
	require.Equal(t, storagetest.Topic("/a").OfferedQoS, m.Topics[1].OfferedQoS)
	require.Equal(t, uint64(10), m.Topics[1].MessageCount)

	require.Equal(t, filepath.Join(directory, "metadata.yaml.bak"), result.Kept)
	kept, err := os.ReadFile(result.Kept)
	require.NoError(t, err)
	require.Equal(t, string(text), string(kept))
	before := names(t, directory)
	require.False(t, reindex(t, directory, bag.ReindexOptions{}).Changed)
	require.Equal(t, before, names(t, directory))

	// The next one that is replaced does not take the place of the first.
	require.NoError(t, os.WriteFile(filepath.Join(directory, bag.MetadataName), []byte("a: [1\n"), 0o600))
	result = reindex(t, directory, bag.ReindexOptions{})
	require.Equal(t, filepath.Join(directory, "metadata.yaml.bak.1"), result.Kept)
	require.Len(t, result.Notes, 1)
	require.Contains(t, result.Notes[0], "the old metadata is of no use")
	require.Equal(t, uint64(10), open(t, directory).Metadata().MessageCount)
}

func TestReindexNamesWhatItLeavesOut(t *testing.T) {
	directory := record(t, bag.WriterOptions{}, 20, 2)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "demo_2.mcap"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "demo_3.mcap"), []byte("not at all"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "notes.txt"), []byte("mine"), 0o600))
	result := reindex(t, directory, bag.ReindexOptions{})
	require.True(t, result.Lost)
	require.Len(t, result.Notes, 2)
	require.Contains(t, result.Notes[0], "demo_2.mcap")
	require.Contains(t, result.Notes[1], "demo_3.mcap")
	require.Equal(t, []string{"demo_0.mcap", "demo_1.mcap"}, result.Metadata.Paths)
	require.Equal(t, uint64(20), open(t, directory).Metadata().MessageCount)
}

func TestReindexErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.mcap")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "notes.txt"), []byte("mine"), 0o600))
	for name, test := range map[string]struct {
		path, storage string
		is            error
		text          string
	}{
		"missing":         {path: "/no/such/bag", is: os.ErrNotExist, text: "Bag path '/no/such/bag' does not exist!"},
		"a file":          {path: file, is: bag.ErrNoDirectory, text: file},
		"empty":           {path: t.TempDir(), is: bag.ErrEmptyDirectory, text: "Empty directory."},
		"no bag file":     {path: other, is: bag.ErrNoFiles, text: "No storage files found"},
		"nothing in it":   {path: filepath.Dir(file), is: storage.ErrEmpty, text: "x.mcap"},
		"unknown storage": {path: other, storage: "tape", is: storage.ErrUnknownStorage, text: "tape"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bag.Reindex(context.Background(), test.path, bag.ReindexOptions{StorageID: test.storage})
			require.ErrorIs(t, err, test.is)
			require.ErrorContains(t, err, test.text)
		})
	}
	require.Equal(t, []string{"notes.txt"}, names(t, other))
}
