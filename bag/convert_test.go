package bag_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/mcap"
	"rosbagd/storage/qos"
	"rosbagd/storage/storagetest"
)

func convert(t *testing.T, out bag.ConvertOutput, in ...string) *bag.ConvertReport {
	t.Helper()
	report, err := bag.Convert(context.Background(), convertOptions(out, in...))
	require.NoError(t, err)
	require.Empty(t, report.Lost)
	return report
}

func convertOptions(out bag.ConvertOutput, in ...string) bag.ConvertOptions {
	options := bag.ConvertOptions{Outputs: []bag.ConvertOutput{out}}
	for _, path := range in {
		options.Inputs = append(options.Inputs, bag.ConvertInput{Path: path})
	}
	return options
}

// everything is an output that takes all.
func everything(t *testing.T, options bag.WriterOptions) bag.ConvertOutput {
	t.Helper()
	return bag.ConvertOutput{Path: filepath.Join(t.TempDir(), "out"), Selection: bag.Everything(), Writer: options}
}

// sums are the messages of a bag in their order, by name of the topic.
func sums(t *testing.T, path string) map[string]string {
	t.Helper()
	r := open(t, path)
	hashes := map[string]string{}
	topics := r.Topics()
	for _, topic := range topics {
		hashes[topic.Name] = "none"
	}
	for _, m := range read(t, r, bag.Query{}) {
		name := topics[m.Topic].Name
		sum := sha256.Sum256(append(fmt.Appendf(nil, "%s %d ", hashes[name], m.LogTimeNanos), m.Data...))
		hashes[name] = string(sum[:8])
	}
	return hashes
}

// noPartials checks that nothing stays behind in a directory but what is named.
func noPartials(t *testing.T, directory string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	require.ElementsMatch(t, names, found)
}

// modes are all ways in which a bag can be written.
func modes() []bag.WriterOptions {
	var modes []bag.WriterOptions
	for _, preset := range []string{"", "none", "fastwrite", "zstd_fast", "zstd_small"} {
		modes = append(modes, bag.WriterOptions{StorageID: "mcap", Preset: preset})
	}
	for _, preset := range []string{"none", "resilient"} {
		modes = append(modes, bag.WriterOptions{StorageID: "sqlite3", Preset: preset})
	}
	for _, id := range []string{"mcap", "sqlite3"} {
		for _, mode := range []string{bag.CompressionFile, bag.CompressionMessage} {
			modes = append(modes, bag.WriterOptions{StorageID: id, CompressionMode: mode})
		}
	}
	return modes
}

func modeName(o bag.WriterOptions) string { return o.StorageID + "_" + o.Preset + o.CompressionMode }

// Each bag of rosbag2 in each way of writing holds what is in the original. (Messages are put in the order of time, so
// the sums of independent readers, in the order of the file, are not always those of the new bag.)
func TestConvertBagsOfRosbag2(t *testing.T) {
	for name, want := range expected(t) {
		if want.Messages == 0 {
			continue
		}
		for i, mode := range modes() {
			if i%4 != len(name)%4 { // each bag in some modes, each mode with some bags
				continue
			}
			t.Run(name+"/"+modeName(mode), func(t *testing.T) {
				t.Parallel()
				in := filepath.Join(golden, name)
				out := everything(t, mode)
				report := convert(t, out, in)
				require.Equal(t, want.Messages, report.Outputs[0].Messages)
				require.Equal(t, sums(t, in), sums(t, out.Path))
				require.Empty(t, open(t, out.Path).Notes())
				noPartials(t, filepath.Dir(out.Path), "out")

				before, after := open(t, in), open(t, out.Path)
				require.Equal(t, before.Metadata().CustomData, after.Metadata().CustomData)
				require.Equal(t, before.Metadata().ROSDistro, after.Metadata().ROSDistro)
				require.Equal(t, len(before.Topics()), len(after.Topics()))
				for i, topic := range before.Topics() {
					got := after.Topics()[i]
					require.Equal(t, topic.Topic, got.Topic)
					wanted, err := before.Definition(storage.TopicID(i))
					require.NoError(t, err)
					definition, err := after.Definition(storage.TopicID(i))
					require.NoError(t, err)
					require.Equal(t, wanted, definition)
				}
			})
		}
	}
}

// manyMessages is how many messages go through every mode; CONVERT_MESSAGES sets it.
func manyMessages(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CONVERT_MESSAGES")
	if text == "" {
		return 2_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func makeBag(t *testing.T, options bag.WriterOptions, messages []storage.Message, topics ...storage.Topic) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	w, err := bag.Create(path, options)
	require.NoError(t, err)
	for _, topic := range topics {
		_, err := w.AddTopic(topic)
		require.NoError(t, err)
	}
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal())
	return path
}

func twoTopics() []storage.Topic {
	return []storage.Topic{storagetest.Topic("/a"), storagetest.Topic("/b")}
}

// No mode, in front or behind, costs a message or changes a byte of one; splits included.
func TestConvertThroughEveryMode(t *testing.T) {
	n := manyMessages(t)
	messages := storagetest.Messages(n, 0, 1)
	first := makeBag(t, bag.WriterOptions{}, messages, twoTopics()...)
	want := sums(t, first)
	for i, from := range modes() {
		in := everything(t, from)
		in.Writer.MaxDuration = time.Duration(n/2) * time.Millisecond
		convert(t, in, first)
		require.Equal(t, want, sums(t, in.Path), modeName(from))
		for j, to := range modes() {
			if (i+j)%3 != 0 && i != j { // enough pairs: all of them tell no more
				continue
			}
			out := everything(t, to)
			out.Writer.MaxSize = 100_000
			report := convert(t, out, in.Path)
			require.Equal(t, uint64(n), report.Outputs[0].Messages, "%s to %s", modeName(from), modeName(to))
			require.Equal(t, want, sums(t, out.Path), "%s to %s", modeName(from), modeName(to))
			require.NoError(t, os.RemoveAll(out.Path))
		}
		require.NoError(t, os.RemoveAll(in.Path))
	}
}

func TestConvertMergesByTime(t *testing.T) {
	messages := storagetest.Messages(400, 0, 1)
	var even, odd []storage.Message
	for i, m := range messages {
		if i/2%2 == 0 {
			even = append(even, m)
		} else {
			odd = append(odd, m)
		}
	}
	other := twoTopics()
	other[0].OfferedQoS[0].Reliability = qos.BestEffort
	a := makeBag(t, bag.WriterOptions{CustomData: map[string]string{"one": "1"}}, even, twoTopics()...)
	b := makeBag(t, bag.WriterOptions{CustomData: map[string]string{"two": "2"}, StorageID: "sqlite3"}, odd, other...)
	out := everything(t, bag.WriterOptions{CustomData: map[string]string{"three": "3"}})
	convert(t, out, a, b)
	r := open(t, out.Path)
	got := read(t, r, bag.Query{Query: storage.Query{Order: storage.ByFile}})
	require.Len(t, got, len(messages))
	for i := range got {
		require.Equal(t, messages[i].LogTimeNanos, got[i].LogTimeNanos)
		require.Equal(t, messages[i].Data, got[i].Data)
	}
	require.Equal(t, map[string]string{"one": "1", "two": "2", "three": "3"}, r.Metadata().CustomData)
	require.Len(t, r.Topics()[0].OfferedQoS, 2)
	require.Len(t, r.Topics()[1].OfferedQoS, 1)
}

func TestConvertRefusesTwoTypesOfATopic(t *testing.T) {
	a := makeBag(t, bag.WriterOptions{}, storagetest.Messages(2, 0), storagetest.Topic("/a"))
	other := storagetest.Topic("/a")
	other.Type = "std_msgs/msg/Int32"
	b := makeBag(t, bag.WriterOptions{}, storagetest.Messages(2, 0), other)
	out := everything(t, bag.WriterOptions{})
	_, err := bag.Convert(context.Background(), convertOptions(out, a, b))
	require.ErrorIs(t, err, storage.ErrTopicType)
	require.ErrorContains(t, err, "/a")
	noPartials(t, filepath.Dir(out.Path))

	// A new name may not clash either.
	c := makeBag(t, bag.WriterOptions{}, storagetest.Messages(2, 0, 1), storagetest.Topic("/x"), other)
	out.Rename = map[string]string{"/x": "/a"}
	_, err = bag.Convert(context.Background(), convertOptions(out, c))
	require.ErrorIs(t, err, storage.ErrTopicType)
}

func TestConvertTellsOfTopicsThatThereAreNot(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{}, storagetest.Messages(10, 0, 1), twoTopics()...)
	out := everything(t, bag.WriterOptions{})
	out.Selection = bag.Selection{Topics: []string{"/a", "b", "/nobody"}, ExcludeTopics: []string{"/b", "/neither"}}
	report := convert(t, out, in)
	require.Equal(t, []string{
		out.Path + ": there is no topic b to take, did you mean /b?",
		out.Path + ": there is no topic /nobody to take",
		out.Path + ": there is no topic /neither to leave out",
	}, report.Notes)
}

func TestConvertRenamesTopics(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{}, storagetest.Messages(10, 0, 1), twoTopics()...)
	out := everything(t, bag.WriterOptions{})
	out.Rename = map[string]string{"/a": "/front/a", "/nobody": "/x"}
	report := convert(t, out, in)
	require.Zero(t, report.Outputs[0].Copied)
	require.Contains(t, report.Notes, out.Path+": there is no topic /nobody to rename")
	before, after := sums(t, in), sums(t, out.Path)
	require.Equal(t, map[string]string{"/front/a": before["/a"], "/b": before["/b"]}, after)

	// Two topics of one type may become one.
	one := everything(t, bag.WriterOptions{})
	one.Rename = map[string]string{"/a": "/b"}
	convert(t, one, in)
	r := open(t, one.Path)
	require.Len(t, r.Topics(), 1)
	require.Equal(t, uint64(10), r.Topics()[0].MessageCount)
}

func TestConvertCutsTimes(t *testing.T) {
	messages := storagetest.Messages(1000, 0, 1) // 1 ms apart
	in := makeBag(t, bag.WriterOptions{}, messages, twoTopics()...)
	start := messages[0].LogTimeNanos
	for name, test := range map[string]struct {
		set         func(*bag.ConvertOutput)
		first, last int
	}{
		"from": {func(o *bag.ConvertOutput) { o.Times.FromNanos = messages[300].LogTimeNanos }, 300, 999},
		"from and until": {func(o *bag.ConvertOutput) {
			o.Times = bag.TimeRange{FromNanos: start + 1, UntilNanos: messages[7].LogTimeNanos, HasUntil: true}
		}, 1, 7},
		"until":            {func(o *bag.ConvertOutput) { o.Times = bag.TimeRange{UntilNanos: start, HasUntil: true} }, 0, 0},
		"offset":           {func(o *bag.ConvertOutput) { o.StartOffset = 100 * time.Millisecond }, 100, 999},
		"duration":         {func(o *bag.ConvertOutput) { o.Duration = 100 * time.Millisecond }, 0, 100},
		"offset, duration": {func(o *bag.ConvertOutput) { o.StartOffset, o.Duration = 500*time.Millisecond, 9*time.Millisecond }, 500, 509},
		"from, duration":   {func(o *bag.ConvertOutput) { o.Times.FromNanos, o.Duration = messages[990].LogTimeNanos, time.Hour }, 990, 999},
		"all, once": {func(o *bag.ConvertOutput) {
			o.Times = bag.TimeRange{FromNanos: start, UntilNanos: messages[999].LogTimeNanos, HasUntil: true}
		}, 0, 999},
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"mcap", "sqlite3"} {
				out := everything(t, bag.WriterOptions{StorageID: id})
				test.set(&out)
				convert(t, out, in)
				got := read(t, open(t, out.Path), bag.Query{})
				require.Len(t, got, test.last-test.first+1)
				require.Equal(t, messages[test.first].LogTimeNanos, got[0].LogTimeNanos)
				require.Equal(t, messages[test.last].LogTimeNanos, got[len(got)-1].LogTimeNanos)
			}
		})
	}
	out := everything(t, bag.WriterOptions{})
	out.StartOffset = time.Hour
	report := convert(t, out, in)
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "no message is in the range of times")
	require.Zero(t, report.Outputs[0].Messages)
}

// Each input may be cut for itself.
func TestConvertCutsTimesOfInputs(t *testing.T) {
	messages := storagetest.Messages(100, 0)
	in := makeBag(t, bag.WriterOptions{}, messages, storagetest.Topic("/a"))
	other := makeBag(t, bag.WriterOptions{StorageID: "sqlite3"}, messages, storagetest.Topic("/b"))
	out := everything(t, bag.WriterOptions{})
	options := convertOptions(out, in, other)
	options.Inputs[0].Times = bag.TimeRange{UntilNanos: messages[9].LogTimeNanos, HasUntil: true}
	options.Inputs[1].Times = bag.TimeRange{FromNanos: messages[95].LogTimeNanos}
	options.Inputs[1].StorageID = "sqlite3"
	_, err := bag.Convert(context.Background(), options)
	require.NoError(t, err)
	r := open(t, out.Path)
	require.Equal(t, uint64(10), r.Topics()[0].MessageCount)
	require.Equal(t, uint64(5), r.Topics()[1].MessageCount)

	options.Outputs[0] = everything(t, bag.WriterOptions{})
	options.Inputs[1].StorageID = "mcap"
	_, err = bag.Convert(context.Background(), options)
	require.ErrorIs(t, err, bag.ErrOtherStorage)
}

func TestConvertRefusesPaths(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{}, storagetest.Messages(5, 0), storagetest.Topic("/a"))
	before, err := os.ReadDir(in)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(in, link))
	existing := t.TempDir()
	for name, test := range map[string]struct {
		path string
		want error
	}{
		"the input":                   {in, bag.ErrSameOutput},
		"the input by another name":   {link, bag.ErrSameOutput},
		"in the input":                {filepath.Join(in, "new"), bag.ErrSameOutput},
		"deep in the input by a link": {filepath.Join(link, "x", "new"), bag.ErrSameOutput},
		"an empty directory":          {existing, bag.ErrExists},
		"a file":                      {filepath.Join(in, bag.MetadataName), bag.ErrSameOutput},
		"nothing":                     {"", bag.ErrSameOutput},
	} {
		t.Run(name, func(t *testing.T) {
			out := everything(t, bag.WriterOptions{})
			out.Path = test.path
			_, err := bag.Convert(context.Background(), convertOptions(out, in))
			require.ErrorIs(t, err, test.want)
		})
	}
	after, err := os.ReadDir(in)
	require.NoError(t, err)
	require.Equal(t, len(before), len(after))

	options := convertOptions(everything(t, bag.WriterOptions{}), in)
	twice := options.Outputs[0]
	twice.Path = filepath.Join(twice.Path, "within")
	options.Outputs = append(options.Outputs, twice)
	_, err = bag.Convert(context.Background(), options)
	require.ErrorIs(t, err, bag.ErrSameOutput)
}

// Ending in the middle leaves nothing, not even the directories that had to be made.
func TestConvertLeavesNothingWhenEnded(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{}, storagetest.Messages(50_000, 0, 1), twoTopics()...)
	for name, writer := range map[string]bag.WriterOptions{
		"messages": {Preset: "none"}, "chunks": {}, "splits": {MaxSize: 200_000}, "sqlite3": {StorageID: "sqlite3"},
		"message mode": {CompressionMode: bag.CompressionMessage}, "file mode": {CompressionMode: bag.CompressionFile, MaxSize: 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			out := bag.ConvertOutput{Path: filepath.Join(directory, "some", "where", "out"), Selection: bag.Everything(), Writer: writer}
			ctx, cancel := context.WithCancel(context.Background())
			options := convertOptions(out, in)
			options.Progress = func(p bag.Progress) { cancel() }
			_, err := bag.Convert(ctx, options)
			require.ErrorIs(t, err, context.Canceled)
			noPartials(t, directory)
		})
	}
	require.Len(t, read(t, open(t, in), bag.Query{}), 50_000)
}

func TestConvertTellsWhatIsDamaged(t *testing.T) {
	in := makeBag(t, bag.WriterOptions{MaxSize: 200_000}, storagetest.Messages(20_000, 0, 1), twoTopics()...)
	files := open(t, in).Files()
	require.Greater(t, len(files), 2)
	data, err := os.ReadFile(files[1])
	require.NoError(t, err)
	for i := range 64 {
		data[len(data)/2+i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(files[1], data, 0o600))
	require.NoError(t, os.Remove(files[2]))
	out := everything(t, bag.WriterOptions{})
	report, err := bag.Convert(context.Background(), convertOptions(out, in))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(report.Lost), 2)
	got := read(t, open(t, out.Path), bag.Query{})
	require.NotEmpty(t, got)
	require.Less(t, len(got), 20_000)
	require.Equal(t, uint64(len(got)), report.Outputs[0].Messages)

	// When nothing can be read there is nothing to convert.
	for _, file := range open(t, in).Files() {
		require.NoError(t, os.RemoveAll(file))
	}
	out = everything(t, bag.WriterOptions{})
	_, err = bag.Convert(context.Background(), convertOptions(out, in))
	require.Error(t, err)
	noPartials(t, filepath.Dir(out.Path))
}

// Chunks are copied where nothing in them changes, and only there.
func TestConvertCopiesChunks(t *testing.T) {
	const n = 20_000 // two chunks and a bit
	messages := storagetest.Messages(n, 0, 1)
	for i := range messages {
		messages[i].Data = fmt.Appendf(nil, "%0200d", i)
	}
	in := makeBag(t, bag.WriterOptions{Preset: "zstd_fast"}, messages, twoTopics()...)
	split := makeBag(t, bag.WriterOptions{MaxSize: 1_500_000}, messages, twoTopics()...)
	want := sums(t, in)
	some := func(o *bag.ConvertOutput) { o.Times.FromNanos = messages[10].LogTimeNanos }
	for name, test := range map[string]struct {
		in     []string
		set    func(*bag.ConvertOutput)
		copied func(uint64) bool
	}{
		"all":                   {[]string{in}, func(*bag.ConvertOutput) {}, func(n uint64) bool { return n == uint64(len(messages)) }},
		"several files":         {[]string{split}, func(*bag.ConvertOutput) {}, func(n uint64) bool { return n == uint64(len(messages)) }},
		"some of the time":      {[]string{in}, some, func(n uint64) bool { return n > 0 && n < uint64(len(messages))-10 }},
		"to several files":      {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.MaxDuration = 8 * time.Second }, func(n uint64) bool { return n > 0 }},
		"small files":           {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.MaxSize = 86016 }, func(n uint64) bool { return n == 0 }},
		"a preset":              {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.Preset = "none" }, func(n uint64) bool { return n == 0 }},
		"one topic":             {[]string{in}, func(o *bag.ConvertOutput) { o.Selection = bag.Selection{Topics: []string{"/a"}} }, func(n uint64) bool { return n == 0 }},
		"an older version":      {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.MetadataVersion = 5 }, func(n uint64) bool { return n == 0 }},
		"messages compressed":   {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.CompressionMode = bag.CompressionMessage }, func(n uint64) bool { return n == 0 }},
		"files compressed":      {[]string{in}, func(o *bag.ConvertOutput) { o.Writer.CompressionMode = bag.CompressionFile }, func(n uint64) bool { return n == uint64(len(messages)) }},
		"inputs that overlap":   {[]string{in, split}, func(*bag.ConvertOutput) {}, func(n uint64) bool { return n == 0 }},
		"times of other chunks": {[]string{split}, func(o *bag.ConvertOutput) { o.StartOffset, o.Duration = 5*time.Second, 9*time.Second }, func(n uint64) bool { return n > 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			out := everything(t, bag.WriterOptions{})
			test.set(&out)
			report := convert(t, out, test.in...)
			require.True(t, test.copied(report.Outputs[0].Copied), "%d copied", report.Outputs[0].Copied)
			r := open(t, out.Path)
			got := read(t, r, bag.Query{})
			require.Equal(t, uint64(len(got)), report.Outputs[0].Messages)
			for i := 1; i < len(got); i++ {
				require.LessOrEqual(t, got[i-1].LogTimeNanos, got[i].LogTimeNanos)
			}
			for _, file := range r.Metadata().Files {
				if out.Writer.MaxDuration > 0 {
					require.LessOrEqual(t, file.Duration, out.Writer.MaxDuration)
				}
			}
			if name == "all" || name == "several files" || name == "to several files" || name == "small files" {
				require.Equal(t, want, sums(t, out.Path))
			}
		})
	}
}

func TestConvertToSeveralOutputs(t *testing.T) {
	messages := storagetest.Messages(3000, 0, 1)
	in := makeBag(t, bag.WriterOptions{}, messages, twoTopics()...)
	directory := t.TempDir()
	options := convertOptions(bag.ConvertOutput{Path: filepath.Join(directory, "a"), Selection: bag.Selection{Topics: []string{"/a"}}}, in)
	options.Outputs = append(options.Outputs,
		bag.ConvertOutput{Path: filepath.Join(directory, "b"), Selection: bag.Selection{TopicTypes: []string{"std_msgs/msg/String"}}, Writer: bag.WriterOptions{StorageID: "sqlite3"}},
		bag.ConvertOutput{Path: filepath.Join(directory, "none")},
		bag.ConvertOutput{Path: filepath.Join(directory, "late"), Selection: bag.Everything(), Times: bag.TimeRange{FromNanos: messages[2990].LogTimeNanos}},
	)
	report, err := bag.Convert(context.Background(), options)
	require.NoError(t, err)
	var got []uint64
	for _, out := range report.Outputs {
		got = append(got, out.Messages)
	}
	require.Equal(t, []uint64{1500, 3000, 0, 10}, got)
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "no topics are selected")
	noPartials(t, directory, "a", "b", "none", "late")
	require.Empty(t, open(t, filepath.Join(directory, "none")).Topics())
	all := sums(t, in)
	require.Equal(t, map[string]string{"/a": all["/a"]}, sums(t, filepath.Join(directory, "a")))

	// One that can not be made leaves none behind.
	options.Outputs[0].Path, options.Outputs[1].Path = filepath.Join(directory, "c"), filepath.Join(directory, "d")
	options.Outputs = options.Outputs[:2]
	options.Outputs[1].Writer.MaxSize = 1
	_, err = bag.Convert(context.Background(), options)
	require.ErrorIs(t, err, bag.ErrSplitSize)
	var setting *bag.SettingError
	require.True(t, errors.As(err, &setting))
	noPartials(t, directory, "a", "b", "none", "late")
}

func TestConvertWritesOlderMetadata(t *testing.T) {
	in := filepath.Join(golden, "mcap_plain")
	for _, id := range []string{"mcap", "sqlite3"} {
		for version := bag.OldestMetadataVersion; version <= bag.MetadataVersion; version++ {
			out := everything(t, bag.WriterOptions{StorageID: id, MetadataVersion: version})
			convert(t, out, in)
			before, after := open(t, in), open(t, out.Path)
			require.Equal(t, version, after.Metadata().Version)
			require.Equal(t, before.Metadata().MessageCount, after.Metadata().MessageCount)
			for i, topic := range before.Topics() {
				require.Equal(t, topic.OfferedQoS, after.Topics()[i].OfferedQoS)
			}
			require.Equal(t, sums(t, in), sums(t, out.Path))
		}
	}
}

// withExtras is an MCAP bag with attachments and records of its own.
func withExtras(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extras")
	require.NoError(t, os.Mkdir(path, 0o700))
	w, err := mcap.Create(filepath.Join(path, "extras_0.mcap"), mcap.Options{})
	require.NoError(t, err)
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Write(storagetest.Messages(10, id)))
	require.NoError(t, w.WriteAttachment(storage.Attachment{
		Name: "map.pgm", MediaType: "image/x-portable-graymap", LogTimeNanos: 5, CreateTimeNanos: 4, Size: 4, Data: strings.NewReader("P5 1"),
	}))
	require.NoError(t, w.WriteRecord(storage.Record{Name: "calibration", Values: map[string]string{"fx": "1.5"}}))
	require.NoError(t, w.Seal(nil))
	return path
}

func extrasOf(t *testing.T, path string) []string {
	t.Helper()
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var found []string
	require.NoError(t, r.Extras(
		func(a storage.Attachment) error {
			data, err := io.ReadAll(a.Data)
			found = append(found, fmt.Sprintf("%s %s %d %d %s", a.Name, a.MediaType, a.LogTimeNanos, a.CreateTimeNanos, data))
			return err
		},
		func(r storage.Record) error {
			found = append(found, fmt.Sprintf("%s %v", r.Name, r.Values))
			return nil
		},
	))
	return found
}

func TestConvertKeepsAttachmentsAndRecords(t *testing.T) {
	in := withExtras(t)
	want := []string{"map.pgm image/x-portable-graymap 5 4 P5 1", "calibration map[fx:1.5]"}
	require.Equal(t, want, extrasOf(t, filepath.Join(in, "extras_0.mcap")))
	for _, options := range []bag.WriterOptions{{}, {Preset: "zstd_fast"}, {MaxSize: 1024}, {CompressionMode: bag.CompressionMessage}} {
		out := everything(t, options)
		convert(t, out, in)
		require.Equal(t, want, extrasOf(t, filepath.Join(out.Path, "out_0.mcap")))
	}
	out := everything(t, bag.WriterOptions{CompressionMode: bag.CompressionFile})
	convert(t, out, in)
	again := everything(t, bag.WriterOptions{})
	convert(t, again, out.Path)
	require.Equal(t, want, extrasOf(t, filepath.Join(again.Path, "out_0.mcap")))

	out = everything(t, bag.WriterOptions{StorageID: "sqlite3"})
	report := convert(t, out, in)
	require.Len(t, report.Notes, 2)
	require.Contains(t, report.Notes[0], "1 attachment(s)")
	require.Contains(t, report.Notes[1], "1 metadata record(s)")
}
