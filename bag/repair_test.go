package bag_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// wholeFile writes one file with a chunk for each group of messages, and gives its path.
func wholeFile(t *testing.T, directory, storageID, preset string, groups [][]storage.Message) string {
	t.Helper()
	format, err := formats.Lookup(storageID)
	require.NoError(t, err)
	path := filepath.Join(directory, "demo_0"+format.Extension)
	metadata, err := bag.Metadata{StorageID: storageID, CustomData: map[string]string{"robot": "7"}, ROSDistro: "jazzy"}.EncodeInner()
	require.NoError(t, err)
	w, err := format.Create(path, storage.CreateOptions{Preset: preset, Metadata: metadata})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	for _, messages := range groups {
		require.NoError(t, w.Write(messages))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Seal(metadata))
	return path
}

// groups are n groups of 20 messages.
func groups(n int) [][]storage.Message {
	return slices.Collect(slices.Chunk(storagetest.Messages(20*n, 0, 1), 20))
}

// chunkOffsets are where the chunks of an MCAP file begin, and where the last one ends.
func chunkOffsets(t *testing.T, path string) []uint64 {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	r, err := mcaplib.NewReader(file)
	require.NoError(t, err)
	info, err := r.Info()
	require.NoError(t, err)
	var offsets []uint64
	for _, chunk := range info.ChunkIndexes {
		offsets = append(offsets, chunk.ChunkStartOffset)
	}
	last := info.ChunkIndexes[len(info.ChunkIndexes)-1]
	return append(offsets, last.ChunkStartOffset+last.ChunkLength)
}

// requireRepaired repairs a bag of one file and requires that it is whole then: it has the messages wanted in order, an
// index, and does not change when it is repaired again.
func requireRepaired(t *testing.T, directory string, want []storage.Message) bag.Repaired {
	t.Helper()
	result := reindex(t, directory, bag.ReindexOptions{Repair: true})
	require.Len(t, result.Repaired, 1)
	repaired := result.Repaired[0]
	require.Equal(t, uint64(len(want)), repaired.Kept)
	require.Equal(t, repaired.Missing != "", result.Lost)
	require.NotEmpty(t, repaired.Reason)

	format, err := formats.Detect(repaired.Path)
	require.NoError(t, err)
	file, err := format.Open(repaired.Path, storage.OpenOptions{})
	require.NoError(t, err)
	info := file.Info()
	require.Empty(t, info.Damage)
	require.False(t, info.Unindexed)
	require.Contains(t, string(info.Metadata), `robot: "7"`)
	require.NoError(t, file.Close())

	before := snapshot(t, directory)
	again := reindex(t, directory, bag.ReindexOptions{Repair: true})
	require.Empty(t, again.Repaired)
	require.False(t, again.Changed)
	require.False(t, again.Lost)
	require.Equal(t, before, snapshot(t, directory))

	for _, metadata := range []bool{true, false} {
		r := open(t, directory)
		require.Empty(t, r.Notes())
		require.Equal(t, []string{filepath.Base(repaired.Path)}, r.Metadata().Paths)
		require.Equal(t, "7", r.Metadata().CustomData["robot"])
		requireMessages(t, want, read(t, r, bag.Query{}))
		if len(want) > 0 {
			from := want[len(want)/2].LogTimeNanos
			later := slices.DeleteFunc(slices.Clone(want), func(m storage.Message) bool { return m.LogTimeNanos < from || m.Topic != 1 })
			seek := bag.Query{Query: storage.Query{FromNanos: from, Topics: []storage.TopicID{1}}}
			requireMessages(t, later, read(t, r, seek))
		}
		if metadata {
			require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
		}
	}
	return repaired
}

func requireMessages(t *testing.T, want, got []storage.Message) {
	t.Helper()
	require.Equal(t, len(want), len(got))
	for i := range want {
		one, other := want[i], got[i]
		require.True(t, bytes.Equal(one.Data, other.Data), "payload of message %d", i)
		one.Data, other.Data = nil, nil
		require.Equal(t, one, other, "message %d", i)
	}
}

// snapshot is all files of a directory by name.
func snapshot(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range names(t, directory) {
		content, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err)
		stat, err := os.Stat(filepath.Join(directory, name))
		require.NoError(t, err)
		found[name] = fmt.Sprint(stat.ModTime().UnixNano(), string(content))
	}
	return found
}

func TestRepairAfterAFlippedByteKeepsTheOtherChunks(t *testing.T) {
	for _, preset := range []string{"none", "zstd_fast"} {
		t.Run(preset, func(t *testing.T) {
			directory, all := t.TempDir(), groups(10)
			path := wholeFile(t, directory, "mcap", preset, all)
			offsets := chunkOffsets(t, path)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			content[(offsets[4]+offsets[5])/2-40] ^= 0x10
			require.NoError(t, os.WriteFile(path, content, 0o600))

			repaired := requireRepaired(t, directory, slices.Concat(slices.Delete(all, 4, 5)...))
			require.Contains(t, repaired.Missing, fmt.Sprintf("damaged at byte %d", offsets[4]))
			require.Equal(t, path+".broken", repaired.Broken)
			kept, err := os.ReadFile(repaired.Broken)
			require.NoError(t, err)
			require.Equal(t, content, kept)
			mended, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, bytes.Count(content, []byte("zstd")) > 0, bytes.Count(mended, []byte("zstd")) > 0, "compression stays")
			require.Contains(t, string(mended), string(content[offsets[5]:offsets[6]]), "chunks are copied as they are")
		})
	}
}

func TestRepairOfAFileThatEndsAnywhere(t *testing.T) {
	all := groups(5)
	source := wholeFile(t, t.TempDir(), "mcap", "none", all)
	offsets := chunkOffsets(t, source)
	content, err := os.ReadFile(source)
	require.NoError(t, err)
	metadata, first := uint64(600), offsets[0]
	for cut := min(metadata, first); cut < uint64(len(content)); cut += uint64(len(content)) / 40 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			directory := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(directory, "demo_0.mcap"), content[:cut], 0o600))
			whole := 0
			for _, end := range offsets[1:] {
				// A chunk ends where the indexes behind it begin; without these it is read itself.
				if end <= cut {
					whole++
				}
			}
			if whole < len(all) && chunkLength(content, offsets[whole])+offsets[whole] <= cut {
				whole++
			}
			requireRepaired(t, directory, slices.Concat(all[:whole]...))
		})
	}
}

// chunkLength is the length of the record at an offset, with its head.
func chunkLength(content []byte, offset uint64) uint64 {
	length := uint64(0)
	for i := range 8 {
		length |= uint64(content[offset+1+uint64(i)]) << (8 * i)
	}
	return length + 9
}

func TestRepairMakesAnIndex(t *testing.T) {
	for name, options := range map[string]mcaplib.WriterOptions{
		"no summary":        {Chunked: true, SkipSummaryOffsets: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipChunkIndex: true, SkipMetadataIndex: true, SkipAttachmentIndex: true},
		"no message index":  {Chunked: true, SkipMessageIndexing: true, SkipSummaryOffsets: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipChunkIndex: true, SkipMetadataIndex: true},
		"chunks with lz4":   {Chunked: true, Compression: mcaplib.CompressionLZ4, SkipSummaryOffsets: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipChunkIndex: true, SkipMetadataIndex: true},
		"no chunks at all":  {SkipSummaryOffsets: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipChunkIndex: true, SkipMetadataIndex: true},
		"small chunks zstd": {Chunked: true, ChunkSize: 200, Compression: mcaplib.CompressionZSTD, SkipSummaryOffsets: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipChunkIndex: true, SkipMetadataIndex: true},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			want := storagetest.Messages(50, 0, 1)
			writeForeign(t, filepath.Join(directory, "any name.mcap"), options, want)
			repaired := requireRepaired(t, directory, want)
			require.Empty(t, repaired.Missing)
			require.Contains(t, repaired.Reason, "index")
		})
	}
}

// writeForeign lets the mcap library write a file.
func writeForeign(t *testing.T, path string, options mcaplib.WriterOptions, messages []storage.Message) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := mcaplib.NewWriter(file, &options)
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "ros2"}))
	inner, err := bag.Metadata{StorageID: "mcap", CustomData: map[string]string{"robot": "7"}}.EncodeInner()
	require.NoError(t, err)
	require.NoError(t, w.WriteMetadata(&mcaplib.Metadata{
		Name: "rosbag2", Metadata: map[string]string{"serialized_metadata": string(inner)},
	}))
	require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 7, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data")}))
	for i, name := range []string{"/a", "/b"} {
		require.NoError(t, w.WriteChannel(&mcaplib.Channel{ID: uint16(5 * i), SchemaID: 7, Topic: name, MessageEncoding: "cdr"}))
	}
	for _, m := range messages {
		require.NoError(t, w.WriteMessage(&mcaplib.Message{
			ChannelID: uint16(5 * m.Topic), Sequence: m.Sequence, LogTime: uint64(m.LogTimeNanos),
			PublishTime: uint64(m.PublishTimeNanos), Data: m.Data,
		}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
}

func TestRepairLeavesWholeFilesAsTheyAre(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(described(t))) {
		if name == noEndMark {
			continue
		}
		directory := copyBag(t, name)
		correct(t, directory)
		before := snapshot(t, directory)
		result := reindex(t, directory, bag.ReindexOptions{Repair: true})
		require.Empty(t, result.Repaired, name)
		require.False(t, result.Lost, name)
		require.Equal(t, before, snapshot(t, directory), name)
	}
}

func TestRepairTellsOfMessagesThatMetadataKnowsOf(t *testing.T) {
	for name, test := range map[string]struct {
		cut  int64
		want string
	}{
		"only the end is gone": {cut: 200},
		"messages are gone":    {cut: 60_000, want: " of 154 messages; "},
	} {
		t.Run(name, func(t *testing.T) {
			directory := copyBag(t, "mcap_split")
			path := filepath.Join(directory, "mcap_split_1.mcap")
			stat, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, stat.Size()-test.cut))
			result := reindex(t, directory, bag.ReindexOptions{Repair: true})
			require.Len(t, result.Repaired, 1)
			require.Equal(t, test.want != "", result.Lost)
			require.Contains(t, result.Repaired[0].Missing, test.want)
			require.Equal(t, 467-154+result.Repaired[0].Kept, open(t, directory).Metadata().MessageCount)
		})
	}
}

func TestRepairOfACompressedFileWithoutEndMark(t *testing.T) {
	directory := copyBag(t, noEndMark)
	want := read(t, open(t, directory), bag.Query{})
	repaired := requireRepairedPacked(t, directory, want)
	require.Empty(t, repaired.Missing)
	require.Contains(t, repaired.Reason, "no end mark")
}

func TestRepairOfACompressedFileThatIsCut(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "demo")
	w := create(t, directory, bag.WriterOptions{CompressionMode: bag.CompressionFile})
	seal := run(t, w)
	messages := storagetest.Messages(500, 0)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range messages {
		messages[i].Data = make([]byte, 4000) // more than a few blocks of the compressed file
		for j := range messages[i].Data {
			messages[i].Data[j] = byte(noise.Uint32())
		}
	}
	for batch := range slices.Chunk(messages, 50) {
		require.NoError(t, w.Write(batch))
	}
	seal()
	path := filepath.Join(directory, "demo_0.mcap.zstd")
	stat, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, stat.Size()*2/3))
	kept := messages[:len(read(t, open(t, directory), bag.Query{}))]
	require.Greater(t, len(kept), 100)
	require.Less(t, len(kept), 400)
	repaired := requireRepairedPacked(t, directory, kept)
	require.NotEmpty(t, repaired.Missing)
}

func requireRepairedPacked(t *testing.T, directory string, want []storage.Message) bag.Repaired {
	t.Helper()
	result := reindex(t, directory, bag.ReindexOptions{Repair: true})
	require.Len(t, result.Repaired, 1)
	repaired := result.Repaired[0]
	require.Equal(t, repaired.Missing != "", result.Lost)
	require.Equal(t, uint64(len(want)), repaired.Kept)
	require.Equal(t, bag.CompressionFile, result.Metadata.CompressionMode)
	r := open(t, directory)
	requireMessages(t, want, read(t, r, bag.Query{}))
	require.Empty(t, r.Notes())
	before := snapshot(t, directory)
	require.FileExists(t, repaired.Broken)
	require.Empty(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Repaired)
	require.Equal(t, before, snapshot(t, directory))
	return repaired
}

// TestRepairOfDamagedDatabases zeroes pages of a database and cuts it off, at many places.
func TestRepairOfDamagedDatabases(t *testing.T) {
	all := groups(30)
	for _, messages := range all {
		for i := range messages {
			messages[i].Sequence, messages[i].PublishTimeNanos = 0, messages[i].LogTimeNanos // SQLite files have neither
		}
	}
	source := wholeFile(t, t.TempDir(), "sqlite3", "resilient", all)
	content, err := os.ReadFile(source)
	require.NoError(t, err)
	const page = 4096
	pages := len(content) / page
	require.Greater(t, pages, 12)
	damage := map[string][]byte{}
	for at := 1; at < pages; at += 2 {
		zeroed := slices.Clone(content)
		clear(zeroed[at*page : (at+1)*page])
		damage[fmt.Sprintf("page %d zeroed", at+1)] = zeroed
		damage[fmt.Sprintf("cut in page %d", at+1)] = content[:at*page+page/2]
	}
	written := slices.Concat(all...)
	repairs := 0
	for name, content := range damage {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, "demo_0.db3")
			require.NoError(t, os.WriteFile(path, content, 0o600))
			result, err := bag.Reindex(context.Background(), directory, bag.ReindexOptions{Repair: true})
			if err != nil { // no page of the messages was left
				require.NotContains(t, names(t, directory), bag.MetadataName)
				require.Equal(t, []string{"demo_0.db3"}, names(t, directory))
				return
			}
			repairs += len(result.Repaired)
			found := read(t, open(t, directory), bag.Query{})
			require.Subset(t, keysOf(written), keysOf(found), "nothing that was never written")
			if result.Lost {
				require.Less(t, len(found), len(written)+1)
			} else {
				require.Len(t, found, len(written))
			}
			before := snapshot(t, directory)
			require.Empty(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Repaired)
			require.Equal(t, before, snapshot(t, directory))
			require.NoError(t, bagIsSound(directory))
		})
	}
	require.Greater(t, repairs, len(damage)/2)
}

// keysOf are times and payloads.
func keysOf(messages []storage.Message) []string {
	var keys []string
	for _, m := range messages {
		keys = append(keys, fmt.Sprintf("%d %x", m.LogTimeNanos, m.Data))
	}
	return keys
}

func bagIsSound(directory string) error {
	var found []error
	_, err := bag.Verify(directory, bag.VerifyOptions{}, func(f storage.Finding) {
		if f.Severity == storage.Damage {
			found = append(found, errors.New(f.String()))
		}
	})
	return errors.Join(append(found, err)...)
}

// leftWithLog puts into a new directory what is there of a recording that was never closed: a database, and the log with
// all that was committed.
func leftWithLog(t *testing.T, messages []storage.Message) (directory string) {
	t.Helper()
	format, err := formats.Lookup("sqlite3")
	require.NoError(t, err)
	live := filepath.Join(t.TempDir(), "demo_0.db3")
	metadata, err := bag.Metadata{StorageID: "sqlite3", CustomData: map[string]string{"robot": "7"}, ROSDistro: "jazzy"}.EncodeInner()
	require.NoError(t, err)
	w, err := format.Create(live, storage.CreateOptions{Metadata: metadata})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Flush())
	directory = t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(live + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(directory, "demo_0.db3"+suffix), content, 0o600))
	}
	require.NoError(t, w.Close())
	return directory
}

// logMessages are messages as an SQLite file has them: without sequence, and with one time.
func logMessages(n int) []storage.Message {
	messages := storagetest.Messages(n, 0, 1)
	for i := range messages {
		messages[i].Sequence, messages[i].PublishTimeNanos = 0, messages[i].LogTimeNanos
	}
	return messages
}

func TestRepairTakesInWhatSQLiteLeftBeside(t *testing.T) {
	want := logMessages(50)
	directory := leftWithLog(t, want)
	repaired := requireRepaired(t, directory, want)
	require.Empty(t, repaired.Missing)
	require.Equal(t, []string{"demo_0.db3", "demo_0.db3.broken", "demo_0.db3.broken-wal"}, names(t, directory))
	requireMessages(t, want, read(t, open(t, repaired.Broken), bag.Query{}))
}

// TestRepairEndedBetweenItsRenames has what a repair leaves that was killed when the log of the old database had its new
// name, and the new database not yet its own.
func TestRepairEndedBetweenItsRenames(t *testing.T) {
	for name, keep := range map[string]func(from, to string) error{
		"second name": os.Link,
		"copy": func(from, to string) error { // where a file can not have two names
			content, err := os.ReadFile(from)
			return errors.Join(err, os.WriteFile(to, content, 0o600))
		},
	} {
		for _, repair := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " repair ", repair), func(t *testing.T) {
				want := logMessages(50)
				directory := leftWithLog(t, want)
				path := filepath.Join(directory, "demo_0.db3")
				log, err := os.ReadFile(path + "-wal")
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path+".broken", []byte("of another repair"), 0o600))
				require.NoError(t, os.WriteFile(path+".broken-wal", []byte("its log"), 0o600))
				require.NoError(t, keep(path, path+".broken.1"))
				require.NoError(t, os.Rename(path+"-wal", path+".broken.1-wal"))
				require.NoError(t, os.WriteFile(path+".repair.tmp", []byte("half"), 0o600))

				require.ErrorContains(t, bagIsSound(directory), "'rosbagd reindex' puts it back")
				if opened, err := bag.Open(directory, bag.ReaderOptions{}); err == nil { // there may be nothing to open without the log
					require.Contains(t, strings.Join(opened.Notes(), "\n"), "'rosbagd reindex' puts it back")
					require.NoError(t, opened.Close())
				}
				result := reindex(t, directory, bag.ReindexOptions{Repair: repair})
				require.Equal(t, uint64(50), result.Metadata.MessageCount)
				requireMessages(t, want, read(t, open(t, directory), bag.Query{}))
				if !repair {
					now, err := os.ReadFile(path + "-wal")
					require.NoError(t, err)
					require.Equal(t, log, now)
					requireRepaired(t, directory, want)
				}
				// What a finished repair has set aside stays there.
				require.Empty(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Repaired)
				require.NoFileExists(t, path+"-wal")
				old, err := os.ReadFile(path + ".broken-wal")
				require.NoError(t, err)
				require.Equal(t, "its log", string(old))
				require.NoError(t, bagIsSound(directory))
			})
		}
	}
}

func TestRepairThatIsCancelledLeavesNothing(t *testing.T) {
	directory := t.TempDir()
	path := wholeFile(t, directory, "mcap", "none", groups(3))
	require.NoError(t, os.Truncate(path, 3000))
	before := snapshot(t, directory)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := bag.Reindex(ctx, directory, bag.ReindexOptions{Repair: true})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, snapshot(t, directory))
}

func TestOriginalsOfRepairedFilesAreNoPartOfTheBag(t *testing.T) {
	directory := t.TempDir()
	path := wholeFile(t, directory, "mcap", "none", groups(2))
	for _, name := range []string{".broken", ".broken.1", ".repair.tmp"} {
		require.NoError(t, os.Link(path, path+name))
	}
	require.Equal(t, []string{"demo_0.mcap"}, open(t, directory).Metadata().Paths)
	require.Equal(t, []string{"demo_0.mcap"}, reindex(t, directory, bag.ReindexOptions{}).Metadata.Paths)
	// By its own name it can still be read.
	require.Equal(t, uint64(40), open(t, path+".broken").Metadata().MessageCount)
}
