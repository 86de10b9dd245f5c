package bag_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// perFile gives the message counts of a bag's files.
func perFile(m bag.Metadata) []uint64 {
	var counts []uint64
	for _, file := range m.Files {
		counts = append(counts, file.MessageCount)
	}
	return counts
}

func sized(n, size int) []storage.Message {
	messages := storagetest.Messages(n, 0)
	random := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	for i := range messages {
		messages[i].Data = make([]byte, random.IntN(2*size))
		for j := 0; j < len(messages[i].Data); j += 3 {
			messages[i].Data[j] = byte(random.Uint32())
		}
	}
	return messages
}

func TestSplitByDuration(t *testing.T) {
	base := storagetest.Messages(1, 0)[0]
	at := func(milliseconds ...int) []storage.Message {
		var messages []storage.Message
		for i, ms := range milliseconds {
			m := base
			m.LogTimeNanos += int64(ms) * 1_000_000
			m.PublishTimeNanos = m.LogTimeNanos - 50_000_000
			m.Data = fmt.Appendf(nil, "\x00\x01\x00\x00%d", i)
			messages = append(messages, m)
		}
		return messages
	}
	for name, test := range map[string]struct {
		times []int
		want  []uint64
	}{
		"the limit itself is inside":      {[]int{0, 50, 100, 101, 201, 202}, []uint64{3, 2, 1}},
		"from a file's own first message": {[]int{0, 250, 340, 351}, []uint64{1, 2, 1}},
		"no empty files in a long pause":  {[]int{0, 10_000, 10_001}, []uint64{1, 2}},
		"an older message is the first":   {[]int{100, 0, 101, 102}, []uint64{2, 2}},
		"nothing to split":                {[]int{0, 1}, []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, batch := range []int{1, len(test.times)} {
				path := filepath.Join(t.TempDir(), "demo")
				w := create(t, path, bag.WriterOptions{MaxDuration: 100 * time.Millisecond})
				for rest := at(test.times...); len(rest) > 0; {
					n := min(batch, len(rest))
					require.NoError(t, w.Write(rest[:n]))
					rest = rest[n:]
				}
				require.NoError(t, w.Seal())
				require.Equal(t, test.want, perFile(open(t, path).Metadata()))
			}
		})
	}
}

func TestSplitBySizeAndDuration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{MaxSize: 50_000, MaxDuration: 9 * time.Millisecond})
	messages := storagetest.Messages(40, 0)
	for i := 20; i < 40; i++ {
		messages[i].Data = make([]byte, 10_000)
	}
	require.NoError(t, w.Write(messages))
	require.NoError(t, w.Seal())
	r := open(t, path)
	require.Equal(t, []uint64{10, 10, 5, 5, 5, 5}, perFile(r.Metadata()))
	require.Equal(t, messages, read(t, r, bag.Query{}))
}

// TestTimesBefore1970DoNotSplit: such a message is rejected, and nothing else comes of it.
func TestTimesBefore1970DoNotSplit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{MaxDuration: time.Second, MaxSize: 1 << 20})
	messages := storagetest.Messages(10, 0)
	for _, i := range []int{0, 5} {
		messages[i].LogTimeNanos = math.MinInt64 + int64(i)
	}
	var rejected *storage.RejectedError
	require.ErrorAs(t, w.Write(messages), &rejected)
	require.Equal(t, []int{0, 5}, rejected.Indexes)
	require.NoError(t, w.Seal())
	require.Equal(t, []uint64{8}, perFile(w.Metadata()))
}

// TestRejectedMessagesKeepTheirPlace: positions are those in the slice given to Write, whatever file or frame they were
// meant for, and one bad message costs one message.
func TestRejectedMessagesKeepTheirPlace(t *testing.T) {
	for _, mode := range []string{"", bag.CompressionFile, bag.CompressionMessage} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo")
			w := create(t, path, bag.WriterOptions{MaxSize: 20_000, CompressionMode: mode})
			messages := sized(10_000, 40)
			bad := []int{0, 17, 4095, 4096, 4097, 9_000, 9_999}
			for _, i := range bad {
				messages[i].Topic = 7
			}
			var rejected *storage.RejectedError
			require.ErrorAs(t, w.Write(messages), &rejected)
			require.Equal(t, bad, rejected.Indexes)
			require.NoError(t, w.Seal())
			m := w.Metadata()
			require.Greater(t, len(m.Files), 3)
			require.Equal(t, uint64(10_000-len(bad)), m.MessageCount)
		})
	}
}

func TestSplitSizeBelowTheMinimumIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	for id, least := range map[string]int64{"mcap": 1024, "sqlite3": 86016} {
		_, err := bag.Create(path, bag.WriterOptions{StorageID: id, MaxSize: least - 1})
		require.ErrorIs(t, err, bag.ErrSplitSize)
		require.ErrorContains(t, err, fmt.Sprintf(
			"Invalid bag splitting size given. Please provide a value greater than %d. Specified value of %d", least, least-1))
	}
	require.NoDirExists(t, path)
	_, err := bag.Create(path, bag.WriterOptions{MaxDuration: -1})
	require.Error(t, err)
}

func TestFileNames(t *testing.T) {
	require.Equal(t, bag.NamesByDirectory, bag.FileNamesOf("humble"))
	require.Equal(t, bag.NamesByDirectory, bag.FileNamesOf("kilted"))
	require.Equal(t, bag.NamesByDirectory, bag.FileNamesOf(""))
	require.Equal(t, bag.NamesByTime, bag.FileNamesOf("lyrical"))
	require.Equal(t, bag.NamesByTime, bag.FileNamesOf("rolling"))
	for directory, pattern := range map[string]string{
		"demo":                        `^(\d+)_demo_(\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d)\.mcap$`,
		"rosbag2_2026_05_23-10_11_12": `^(\d+)_rosbag2_(\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d)\.mcap$`,
	} {
		path := filepath.Join(t.TempDir(), directory)
		before := time.Now().Truncate(time.Second)
		w := create(t, path, bag.WriterOptions{FileNames: bag.NamesByTime})
		for range 11 {
			_, _, err := w.Split()
			require.NoError(t, err)
			require.NoError(t, w.Write(storagetest.Messages(1, 0)))
			for _, name := range w.Metadata().Paths {
				require.Regexp(t, pattern, name)
			}
		}
		require.NoError(t, w.Seal())
		m := open(t, path).Metadata()
		require.Len(t, m.Paths, 12)
		last := regexp.MustCompile(pattern).FindStringSubmatch(m.Paths[11])
		require.Equal(t, "11", last[1])
		at, err := time.ParseInLocation("2006_01_02-15_04_05", last[2], time.Local)
		require.NoError(t, err)
		require.False(t, at.Before(before))
	}
}

// TestFilesDoNotGrowWithTheirNumber: the copy of the metadata in a file tells of this file.
func TestFilesDoNotGrowWithTheirNumber(t *testing.T) {
	for _, id := range []string{"mcap", "sqlite3"} {
		t.Run(id, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo")
			w := create(t, path, bag.WriterOptions{StorageID: id})
			seal := run(t, w)
			for range 40 {
				require.NoError(t, w.Write(storagetest.Messages(2, 0)))
				_, _, err := w.Split()
				for errors.Is(err, bag.ErrBusy) {
					runtime.Gosched()
					_, _, err = w.Split()
				}
				require.NoError(t, err)
			}
			seal()
			m := open(t, path).Metadata()
			require.Len(t, m.Files, 41)
			require.Equal(t, uint64(80), m.MessageCount)
			first, err := os.Stat(filepath.Join(path, m.Paths[1]))
			require.NoError(t, err)
			last, err := os.Stat(filepath.Join(path, m.Paths[39]))
			require.NoError(t, err)
			require.Less(t, last.Size(), first.Size()+100)

			alone := open(t, filepath.Join(path, m.Paths[39])).Metadata()
			require.Equal(t, uint64(2), alone.MessageCount)
			require.NoError(t, os.Remove(filepath.Join(path, bag.MetadataName)))
			without := open(t, path).Metadata()
			require.Equal(t, m.Paths, without.Paths)
			require.Equal(t, m.Files, without.Files)
			require.NoError(t, bagIsSound(path))
		})
	}
}
