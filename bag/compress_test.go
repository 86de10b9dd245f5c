package bag_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// unpack gives the content of a compressed file by the library, and by the zstd command where there is one.
func unpack(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	decoder, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer decoder.Close()
	var content bytes.Buffer
	_, err = content.ReadFrom(decoder)
	require.NoError(t, err)
	if command, err := exec.LookPath("zstd"); err == nil {
		require.NoError(t, exec.Command(command, "-t", "-q", path).Run(), "the frame is not whole for the zstd command")
		out, err := exec.Command(command, "-d", "-c", "-q", path).Output()
		require.NoError(t, err)
		require.True(t, bytes.Equal(content.Bytes(), out))
	}
	return content.Bytes()
}

// fileMessages reads one bag file, past package bag.
func fileMessages(t *testing.T, path string) ([]storage.Message, storage.Info) {
	t.Helper()
	format, err := formats.Detect(path)
	require.NoError(t, err)
	r, err := format.Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Messages(storage.Query{})
	require.NoError(t, err)
	return storagetest.All(t, it), r.Info()
}

func TestFileCompression(t *testing.T) {
	for _, level := range []int{0, 9} {
		path := filepath.Join(t.TempDir(), "demo")
		type split struct{ closed, opened string }
		splits := make(chan split, 10)
		w := create(t, path, bag.WriterOptions{
			CompressionMode: "file", CompressionLevel: level, CompressionThreads: 2,
			OnSplit: func(closed, opened string) {
				// At the event the file is there, unpacks, and is in the metadata, under its final name.
				unpack(t, closed)
				_, err := os.Stat(strings.TrimSuffix(closed, ".zstd"))
				require.ErrorIs(t, err, os.ErrNotExist)
				data, err := os.ReadFile(filepath.Join(path, bag.MetadataName))
				require.NoError(t, err)
				metadata, err := bag.DecodeMetadata("", data)
				require.NoError(t, err)
				require.Contains(t, metadata.Paths, filepath.Base(closed))
				for _, listed := range metadata.Paths {
					require.FileExists(t, filepath.Join(path, listed))
				}
				splits <- split{filepath.Base(closed), filepath.Base(opened)}
			},
		})
		seal := run(t, w)
		messages := sized(5000, 300)
		for i := range 5 {
			require.NoError(t, w.Write(messages[1000*i:1000*i+1000]))
			if i < 4 {
				_, _, err := w.Split()
				require.NoError(t, err)
			}
		}
		seal()
		require.Len(t, splits, 4)
		require.Equal(t, split{"demo_0.mcap.zstd", "demo_1.mcap"}, <-splits)
		require.Equal(t, filepath.Join(path, "demo_4.mcap.zstd"), w.CurrentFile())

		data, err := os.ReadFile(filepath.Join(path, bag.MetadataName))
		require.NoError(t, err)
		m, err := bag.DecodeMetadata("", data)
		require.NoError(t, err)
		require.Equal(t, bag.CompressionFile, m.CompressionMode)
		require.Equal(t, "zstd", m.CompressionFormat)
		require.Equal(t, "demo_0.mcap.zstd", m.Paths[0])
		require.Equal(t, "demo_0.mcap", m.Files[0].Path, "as rosbag2 of Jazzy has it")
		require.Equal(t, []uint64{1000, 1000, 1000, 1000, 1000}, perFile(m))
		var got []storage.Message
		plain := t.TempDir()
		for _, name := range m.Paths {
			content := unpack(t, filepath.Join(path, name))
			var head zstd.Header
			packed, err := os.ReadFile(filepath.Join(path, name))
			require.NoError(t, err)
			require.NoError(t, head.Decode(packed))
			require.EqualValues(t, len(content), head.FrameContentSize)
			unpacked := filepath.Join(plain, strings.TrimSuffix(name, ".zstd"))
			require.NoError(t, os.WriteFile(unpacked, content, 0o600))
			messages, info := fileMessages(t, unpacked)
			got = append(got, messages...)
			copied, err := bag.DecodeMetadata("", info.Metadata)
			require.NoError(t, err)
			require.Equal(t, filepath.Base(unpacked), copied.Paths[len(copied.Paths)-1])
			require.Empty(t, info.Damage)
		}
		require.Equal(t, messages, got)
		entries, err := os.ReadDir(path)
		require.NoError(t, err)
		require.Len(t, entries, 6, "nothing else stays behind")
	}
}

// TestMessageCompression looks into the frames as a reader of rosbag2 does, which takes the size from each.
func TestMessageCompression(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{CompressionMode: "MESSAGE", CompressionThreads: 3})
	messages := sized(10_000, 400)
	messages[5].Data = nil
	messages[6].Data = make([]byte, 9<<20)
	messages[7].Data = messages[7].Data[:4]
	require.NoError(t, w.Write(messages[:9_000]))
	for i := 9_000; i < 10_000; i++ {
		require.NoError(t, w.Write(messages[i:i+1]))
	}
	require.NoError(t, w.Seal())
	got, info := fileMessages(t, filepath.Join(path, "demo_0.mcap"))
	require.Len(t, got, len(messages))
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	for i, m := range got {
		var head zstd.Header
		require.NoError(t, head.Decode(m.Data))
		require.True(t, head.HasFCS)
		require.EqualValues(t, len(messages[i].Data), head.FrameContentSize)
		m.Data, err = decoder.DecodeAll(m.Data, nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(messages[i].Data, m.Data), "message %d", i)
		m.Data = messages[i].Data
		require.Equal(t, messages[i], m)
	}
	copied, err := bag.DecodeMetadata("", info.Metadata)
	require.NoError(t, err)
	require.Equal(t, bag.CompressionMessage, copied.CompressionMode)
	require.Equal(t, "zstd", copied.CompressionFormat)
	require.Equal(t, storagetest.Topic("/a").Definition, info.Topics[0].Definition)
}

func TestCompressionOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options bag.WriterOptions
		want    string
	}{
		"mode":    {bag.WriterOptions{CompressionMode: "chunk"}, "known: none, file, message"},
		"format":  {bag.WriterOptions{CompressionMode: "file", CompressionFormat: "lz4"}, "known: zstd"},
		"level":   {bag.WriterOptions{CompressionMode: "file", CompressionLevel: 23}, "1 to 22"},
		"threads": {bag.WriterOptions{CompressionMode: "file", CompressionThreads: -1}, "negative"},
	} {
		path := filepath.Join(t.TempDir(), "demo")
		_, err := bag.Create(path, test.options)
		require.ErrorContains(t, err, test.want, name)
		require.NoDirExists(t, path)
	}
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{CompressionMode: "none", CompressionFormat: "zstd"})
	require.NoError(t, w.Seal())
	require.Empty(t, w.Metadata().CompressionFormat)
}

// TestEveryModeKeepsEverything writes through every storage and mode, with splits, and reads back what was written.
func TestEveryModeKeepsEverything(t *testing.T) {
	messages := sized(100_000, 20)
	for i := range messages {
		messages[i].PublishTimeNanos = messages[i].LogTimeNanos // not every storage keeps it
	}
	for _, format := range formats.All() {
		for _, mode := range []string{"none", "file", "message"} {
			t.Run(format.ID+" "+mode, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "demo")
				w := create(t, path, bag.WriterOptions{StorageID: format.ID, CompressionMode: mode, MaxSize: 1 << 20})
				seal := run(t, w)
				for rest := messages; len(rest) > 0; {
					n := min(len(rest), 1+len(rest)%997)
					require.NoError(t, w.Write(rest[:n]))
					rest = rest[n:]
				}
				seal()
				r := open(t, path)
				require.Empty(t, r.Notes())
				require.Greater(t, len(r.Metadata().Files), 2)
				require.EqualValues(t, len(messages), r.Metadata().MessageCount)
				got := read(t, r, bag.Query{})
				require.Len(t, got, len(messages))
				for i := range got {
					if !bytes.Equal(messages[i].Data, got[i].Data) || messages[i].LogTimeNanos != got[i].LogTimeNanos {
						require.Equal(t, messages[i], got[i])
					}
				}
			})
		}
	}
}
