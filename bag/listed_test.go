package bag_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

// TestPathsDoNotLeaveTheBag: what is outside is not read, even if it is a bag file; what has the same name inside is.
func TestPathsDoNotLeaveTheBag(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.mcap")
	writeFile(t, outside, []storage.Message{at(0, 9, 9)})
	for _, listed := range []string{outside, "../secret.mcap", "x/../../secret.mcap", "..", "/", "../../" + filepath.Base(filepath.Dir(outside)) + "/secret.mcap"} {
		directory := filepath.Join(t.TempDir(), "x")
		writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)}, []storage.Message{at(0, 2, 2)})
		edit(t, directory, "- x_1.mcap", "- "+listed)
		r := open(t, directory)
		require.Len(t, r.Notes(), 2, "%s: one on the path, one on x_1.mcap, which is not listed any more: %v", listed, r.Notes())
		require.Contains(t, r.Notes()[0], "leads out of the bag directory")
		require.NotContains(t, r.Notes()[0], "\n")
		it, err := r.Messages(bag.Query{})
		require.NoError(t, err)
		messages, faults := drain(t, it)
		require.Len(t, faults, 1)
		require.ErrorIs(t, faults[0], bag.ErrOutside)
		require.Equal(t, []storage.Message{at(0, 1, 1), at(0, 2, 2)}, messages, listed)
	}
	// A link is the doing of whoever owns the directory: large files are kept on other disks so.
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", []storage.Message{at(0, 9, 9)})
	require.NoError(t, os.Remove(filepath.Join(directory, "x_0.mcap")))
	require.NoError(t, os.Symlink(outside, filepath.Join(directory, "x_0.mcap")))
	r := open(t, directory)
	require.Len(t, read(t, r, bag.Query{}), 1)
	require.Empty(t, r.Notes())
}

func TestAFileThatIsListedTwiceIsReadOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)}, []storage.Message{at(0, 2, 2)})
	edit(t, directory, "- x_1.mcap", "- x_0.mcap\n    - ./x_1.mcap\n    - x/x_0.mcap")
	r := open(t, directory)
	require.Len(t, read(t, r, bag.Query{}), 2)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], "listed twice")
}

// TestFilesNewerThanTheMetadata are those of a recording that had no end, in both schemes of names.
func TestFilesNewerThanTheMetadata(t *testing.T) {
	for name, test := range map[string]struct {
		listed, newer []string
		foreign       string
	}{
		"up to Kilted":   {[]string{"x_8.mcap", "x_9.mcap"}, []string{"x_10.mcap", "x_11.mcap"}, "y_12.mcap"},
		"with a gap":     {[]string{"x_0.mcap"}, []string{"x_2.mcap"}, "x_3.db3"},
		"from Lyrical":   {[]string{"9_x_2026_05_22-10_00_00.mcap"}, []string{"10_x_2026_05_22-10_01_00.mcap"}, "11_y_2026_05_22-10_01_00.mcap"},
		"oldest deleted": {[]string{"3_x_2026_05_22-10_00_00.mcap", "4_x_2026_05_22-10_00_05.mcap"}, []string{"5_x_2026_05_22-10_01_00.mcap"}, "x.mcap"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "x")
			require.NoError(t, os.Mkdir(directory, 0o700))
			for i, file := range test.listed {
				writeFile(t, filepath.Join(directory, file), []storage.Message{at(0, int64(i), int64(i))})
			}
			describeFiles(t, directory)
			for i, file := range test.newer {
				writeFile(t, filepath.Join(directory, file), []storage.Message{at(0, int64(20+i), 20)})
			}
			writeFile(t, filepath.Join(directory, test.foreign), []storage.Message{at(0, 40, 40)})
			r := open(t, directory)
			require.Len(t, read(t, r, bag.Query{}), len(test.listed)+len(test.newer))
			require.Len(t, r.Notes(), len(test.newer))
			for i, file := range test.newer {
				require.Contains(t, r.Notes()[i], file+": not in the metadata, 1 messages added")
			}
			require.Equal(t, append(test.listed, test.newer...), r.Metadata().Paths)
			require.Equal(t, uint64(len(test.listed)+len(test.newer)), r.Metadata().MessageCount)
		})
	}
}

// TestNamesTellNothing: the times do.
func TestNamesTellNothing(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(directory, 0o700))
	var want []int64
	for i := range 12 { // x_10 comes behind x_9
		writeFile(t, filepath.Join(directory, fmt.Sprintf("x_%d.mcap", i)), []storage.Message{at(0, int64(10*i), 0)})
		want = append(want, 1e9+int64(10*i))
	}
	require.NoError(t, os.Rename(filepath.Join(directory, "x_0.mcap"), filepath.Join(directory, "zz.data")))
	require.NoError(t, os.Rename(filepath.Join(directory, "x_11.mcap"), filepath.Join(directory, "Aufnahme vom Dienstag")))
	var got []int64
	for _, m := range read(t, open(t, directory), bag.Query{Query: storage.Query{Order: storage.ByFile}}) {
		got = append(got, m.LogTimeNanos)
	}
	require.Equal(t, want, got)
}

// TestFilesThatWereRenamed are read although metadata.yaml lists none of them.
func TestFilesThatWereRenamed(t *testing.T) {
	path := copyBag(t, "mcap_split")
	for i := range 5 {
		require.NoError(t, os.Rename(filepath.Join(path, fmt.Sprintf("mcap_split_%d.mcap", i)), filepath.Join(path, fmt.Sprintf("other_%d.mcap", i))))
	}
	r := open(t, path)
	require.Len(t, read(t, r, bag.Query{}), 467)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], "has none of the files that its metadata.yaml lists")
}

// TestMalformedMetadataCostsNoMessage, nor does one of a storage that nobody knows.
func TestMalformedMetadataCostsNoMessage(t *testing.T) {
	for _, damage := range []string{"storage_identifier: tape", "message_count: [", "version: {a: b}", "topics_with_message_count: 7 #"} {
		path := copyBag(t, "mcap_split")
		name := filepath.Join(path, bag.MetadataName)
		require.NoError(t, os.WriteFile(name, []byte("rosbag2_bagfile_information:\n  version: 9\n  "+damage+"\n"), 0o600))
		r := open(t, path)
		require.Len(t, read(t, r, bag.Query{}), 467, damage)
		require.Len(t, r.Notes(), 1, damage)
		require.Contains(t, r.Notes()[0], "passed over")
		require.NotContains(t, r.Notes()[0], "\n")
	}
}

// TestTimesInTheMetadataThatAreWrong do not lose messages: rosbag2 has written too short durations, and starts of the
// file before.
func TestTimesInTheMetadataThatAreWrong(t *testing.T) {
	write := func() string {
		directory := filepath.Join(t.TempDir(), "x")
		writeBag(t, directory, ".mcap", []storage.Message{at(0, 10, 0), at(0, 40, 0)}, []storage.Message{at(0, 50, 0), at(0, 60, 0)},
			[]storage.Message{at(0, 70, 0), at(0, 80, 0)})
		return directory
	}
	short := write()
	edit(t, short, "nanoseconds: 30\n", "nanoseconds: 3\n")
	require.Len(t, read(t, open(t, short), bag.Query{Query: storage.Query{FromNanos: 1e9 + 40}}), 5)
	grown := write()
	edit(t, grown, "        nanoseconds: 10\n", "        nanoseconds: 5\n")
	require.Len(t, read(t, open(t, grown), bag.Query{Query: storage.Query{FromNanos: 1e9 + 80}}), 1)
	late := write()
	edit(t, late, "nanoseconds_since_epoch: 1000000010\n      duration", "nanoseconds_since_epoch: 1000000055\n      duration")
	require.Len(t, read(t, open(t, late), bag.Query{Query: storage.Query{HasUntil: true, UntilNanos: 1e9 + 45}}), 2)
}
