package bag_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

// packFile replaces a file by its compressed form and gives the path of that.
func packFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".zstd", encoder.EncodeAll(content, nil), 0o600))
	require.NoError(t, encoder.Close())
	require.NoError(t, os.Remove(path))
	return path + ".zstd"
}

// cached lists the names in a cache directory; none when there is no directory.
func cached(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

func openUnpacking(t *testing.T, path string, options bag.UnpackOptions) *bag.Reader {
	t.Helper()
	r, err := bag.Open(path, bag.ReaderOptions{Unpack: options})
	require.NoError(t, err)
	return r
}

func TestUnpackedFilesAreKept(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache", "of mine [1]")
	path := copyBag(t, "sqlite3_file_zstd")
	var mu sync.Mutex
	var told []bag.UnpackProgress
	options := bag.UnpackOptions{Directory: cache, Progress: func(p bag.UnpackProgress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	}}
	r := openUnpacking(t, path, options)
	r.CheckFiles()
	require.NoDirExists(t, cache, "metadata.yaml tells all")
	require.Len(t, read(t, r, bag.Query{}), 467)
	require.NoError(t, r.Close())
	require.NotEmpty(t, told)
	last := told[len(told)-1]
	require.Equal(t, last.Total, last.Bytes)
	require.Equal(t, filepath.Join(path, "sqlite3_file_zstd_0.db3.zstd"), last.Path)
	entries := cached(t, cache)
	require.Len(t, entries, 1)
	require.True(t, strings.HasSuffix(entries[0], "-whole.db3"), entries[0])

	// The second time nothing is unpacked, and what can not be wrong is checked.
	told = nil
	again := openUnpacking(t, path, options)
	again.CheckFiles()
	require.Len(t, read(t, again, bag.Query{}), 467)
	require.NoError(t, again.Close())
	require.Empty(t, told)
	require.Equal(t, entries, cached(t, cache))

	// Another content under the same name is another file.
	file := filepath.Join(path, "sqlite3_file_zstd_0.db3.zstd")
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(file, later, later))
	changed := openUnpacking(t, path, options)
	require.Len(t, read(t, changed, bag.Query{}), 467)
	require.NoError(t, changed.Close())
	require.Len(t, cached(t, cache), 2)
}

// TestCacheIsBounded: the oldest that nobody uses goes first, and one that is in use stays.
func TestCacheIsBounded(t *testing.T) {
	cache := t.TempDir()
	options := bag.UnpackOptions{Directory: cache}
	var paths []string
	for range 3 {
		directory := filepath.Join(t.TempDir(), "x")
		writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)})
		packFile(t, filepath.Join(directory, "x_0.mcap"))
		paths = append(paths, directory)
	}
	unpack := func(path string, options bag.UnpackOptions) (name string) {
		before := cached(t, cache)
		r := openUnpacking(t, path, options)
		require.Len(t, read(t, r, bag.Query{}), 1)
		for _, entry := range cached(t, cache) {
			if !slices.Contains(before, entry) {
				name = entry
			}
		}
		require.NoError(t, r.Close())
		for _, entry := range cached(t, cache) {
			if !slices.Contains(before, entry) {
				name = entry
			}
		}
		return name
	}
	first := unpack(paths[0], options)
	second := unpack(paths[1], options)
	for i, name := range []string{first, second} {
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(cache, name), old, old))
	}
	foreign := filepath.Join(cache, "thesis.mcap")
	require.NoError(t, os.WriteFile(foreign, make([]byte, 1<<20), 0o600))

	// The first is in use, by another process for all that can be seen: each reader has locks of its own.
	user := openUnpacking(t, paths[0], options)
	it, err := user.Messages(bag.Query{})
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(cache, second))
	require.NoError(t, err)
	options.MaxBytes = 2 * info.Size()
	third := unpack(paths[2], options)
	require.ElementsMatch(t, []string{first, third, "thesis.mcap"}, cached(t, cache))
	messages, faults := drain(t, it)
	require.Len(t, messages, 1)
	require.Empty(t, faults)
	require.NoError(t, user.Close())

	// What is larger than the bound is unpacked, and not kept.
	options.MaxBytes = 10
	unpack(paths[1], options)
	require.Equal(t, []string{"thesis.mcap"}, cached(t, cache))
}

// TestAbandonedPartsAreRemoved: those of a process that died, and not those of one that is at work.
func TestAbandonedPartsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	key := strings.Repeat("ab", 16)
	old := filepath.Join(cache, key+"-1.mcap.part")
	young := filepath.Join(cache, key+"-2.mcap.part")
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, make([]byte, 2000), 0o600))
	}
	hours := time.Now().Add(-3 * time.Hour)
	require.NoError(t, os.Chtimes(old, hours, hours))
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)})
	packFile(t, filepath.Join(directory, "x_0.mcap"))
	r := openUnpacking(t, directory, bag.UnpackOptions{Directory: cache, MaxBytes: 1500})
	require.Len(t, read(t, r, bag.Query{}), 1)
	require.NoError(t, r.Close())
	require.NoFileExists(t, old)
	require.FileExists(t, young)
}

func TestCacheOfTheEnvironment(t *testing.T) {
	path := copyBag(t, "mcap_file_zstd_split")
	cache := filepath.Join(t.TempDir(), "here")
	t.Setenv(bag.CacheDirectoryVariable, cache)
	r := openUnpacking(t, path, bag.UnpackOptions{})
	require.Len(t, read(t, r, bag.Query{}), 467)
	require.NoError(t, r.Close())
	require.Len(t, cached(t, cache), 5)

	t.Setenv(bag.CacheBytesVariable, "many")
	_, err := bag.Open(path, bag.ReaderOptions{})
	require.ErrorContains(t, err, `ROSBAGD_CACHE_BYTES="many"`)
	t.Setenv(bag.CacheBytesVariable, "60000")
	r = openUnpacking(t, copyBag(t, "mcap_file_zstd_split"), bag.UnpackOptions{})
	require.Len(t, read(t, r, bag.Query{}), 467)
	require.NoError(t, r.Close())
	require.LessOrEqual(t, len(cached(t, cache)), 1)

	// A home that can not be written to is passed over.
	t.Setenv(bag.CacheDirectoryVariable, "")
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	t.Setenv("TMPDIR", t.TempDir())
	r = openUnpacking(t, path, bag.UnpackOptions{})
	require.Len(t, read(t, r, bag.Query{}), 467)
	require.NoError(t, r.Close())
	require.Len(t, cached(t, os.TempDir()), 1)

	// One that was asked for is not.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r = openUnpacking(t, path, bag.UnpackOptions{Directory: filepath.Join(file, "x")})
	_, err = r.Messages(bag.Query{})
	require.ErrorContains(t, err, bag.CacheDirectoryVariable)
	require.NoError(t, r.Close())
}

// rle is a frame with a first block of content and then blocks that are one byte each, repeated.
func rle(content []byte, blocks int) []byte {
	data := []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0x38} // a window of 128 KiB
	n := len(content) << 3
	data = append(append(data, byte(n), byte(n>>8), byte(n>>16)), content...)
	const length = 128 << 10 << 3
	for range blocks {
		data = append(data, 1<<1|length&0xff, length>>8&0xff, length>>16, 0)
	}
	return append(data, 1, 0, 0)
}

// TestTooLittleSpace: four bytes become 128 KiB, a file of 40 MB more than the disk has.
func TestTooLittleSpace(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)})
	require.NoError(t, os.Remove(filepath.Join(directory, "x_0.mcap")))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "x_0.mcap.zstd"), rle(mcaplib.Magic, 10<<20), 0o600))
	cache := t.TempDir()
	r := openUnpacking(t, directory, bag.UnpackOptions{Directory: cache})
	_, err := r.Messages(bag.Query{})
	require.ErrorIs(t, err, bag.ErrCacheSpace)
	require.Regexp(t, `unpack .*x_0.mcap.zstd: not enough space to unpack: up to \d{13} bytes are needed in .*, \d+ are free`, err.Error())
	require.NotContains(t, err.Error(), "\n")
	require.Empty(t, cached(t, cache))
	require.NoError(t, r.Close())
}

// TestCompressedFilesThatAreNotWhole give what they have, each with one note.
func TestCompressedFilesThatAreNotWhole(t *testing.T) {
	var messages []storage.Message
	for i := range 20_000 {
		m := at(0, int64(i), int64(i))
		m.Data = []byte(strings.Repeat(m2s(i), 60))
		messages = append(messages, m)
	}
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", messages)
	path := packFile(t, filepath.Join(directory, "x_0.mcap"))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	for name, content := range map[string][]byte{"cut": whole[:len(whole)*3/4], "flipped": flipped, "trailing": append(bytes.Clone(whole), "garbage"...)} {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		for range 2 { // when it is unpacked, and out of the cache
			r := open(t, directory)
			it, err := r.Messages(bag.Query{})
			require.NoError(t, err, name)
			got, _ := drain(t, it)
			require.NotEmpty(t, got, name)
			require.NotEmpty(t, r.Notes(), name)
			require.Contains(t, r.Notes()[0], "cut off or damaged", name)
			if name == "trailing" {
				require.Len(t, got, len(messages))
			} else {
				require.Less(t, len(got), len(messages), name)
				for _, m := range got {
					require.Equal(t, messages[m.LogTimeNanos-1e9], m, name)
				}
			}
			require.NoError(t, r.Close())
		}
	}
}

func m2s(i int) string {
	return string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26))
}

// TestWindowsOutOfProportionAreRefused before they cost memory.
func TestWindowsOutOfProportionAreRefused(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)})
	require.NoError(t, os.Remove(filepath.Join(directory, "x_0.mcap")))
	content := append([]byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0x88, 0x41, 0, 0}, mcaplib.Magic...) // a window of 128 MiB
	require.NoError(t, os.WriteFile(filepath.Join(directory, "x_0.mcap.zstd"), content, 0o600))
	_, err := open(t, directory).Messages(bag.Query{})
	require.ErrorIs(t, err, storage.ErrUnsupported)
	require.ErrorContains(t, err, "134217728 bytes of memory")
}

// TestPlainAndCompressedAreOneFile: a writer that was killed while it compressed leaves both, and one of them may be
// half written.
func TestPlainAndCompressedAreOneFile(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, plain, packed string)
	}{
		"both whole":            {spoil: func(*testing.T, string, string) {}},
		"compressed is half":    {spoil: func(t *testing.T, _, packed string) { halve(t, packed) }},
		"plain is half":         {spoil: func(t *testing.T, plain, _ string) { halve(t, plain) }},
		"compressed is nothing": {spoil: func(t *testing.T, _, packed string) { require.NoError(t, os.Truncate(packed, 0)) }},
	} {
		for _, listed := range []string{"x_1.mcap", "x_1.mcap.zstd", "x_0.mcap alone", "nothing"} {
			t.Run(name+", listed "+listed, func(t *testing.T) {
				directory := filepath.Join(t.TempDir(), "x")
				writeBag(t, directory, ".mcap", []storage.Message{at(0, 1, 1)}, []storage.Message{at(0, 2, 2), at(0, 3, 3)})
				plain := filepath.Join(directory, "x_1.mcap")
				content, err := os.ReadFile(plain)
				require.NoError(t, err)
				packed := packFile(t, plain)
				require.NoError(t, os.WriteFile(plain, content, 0o600))
				switch listed {
				case "x_1.mcap.zstd":
					edit(t, directory, "    - x_1.mcap\n", "    - x_1.mcap.zstd\n")
				case "x_0.mcap alone":
					edit(t, directory, "    - x_1.mcap\n", "")
				case "nothing":
					require.NoError(t, os.Remove(filepath.Join(directory, bag.MetadataName)))
				}
				test.spoil(t, plain, packed)
				r := open(t, directory)
				got := read(t, r, bag.Query{})
				require.Equal(t, []storage.Message{at(0, 1, 1), at(0, 2, 2), at(0, 3, 3)}, got, "%v", r.Notes())
				require.Len(t, r.Files(), 2)
			})
		}
	}
}

func halve(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()/2))
}
