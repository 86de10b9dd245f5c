package sqlite3

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

const testPage = 4096

// sample is a finished file with what was written to it, and where its bytes are: found by looking for the payloads,
// not by following the format.
type sample struct {
	file     []byte
	messages []storage.Message
	early    []byte               // the file as it was when half of it was written
	owners   map[int]map[int]bool // page (from 0): messages that have payload bytes in it
	ends     []int                // by message: the last byte of the file that it needs
}

// newSample writes messages of two topics with random payloads of 24 bytes to 40 KB.
func newSample(t testing.TB, seed uint64, n int) *sample {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	s := &sample{messages: storagetest.Messages(n, 0, 1)}
	for i := range s.messages {
		size := 24 + random.IntN(300)
		if random.IntN(12) == 0 {
			size = 24 + random.IntN(40_000)
		}
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		s.messages[i].Data = data
		s.messages[i].PublishTimeNanos = s.messages[i].LogTimeNanos
	}
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{
		Preset: PresetNone, Metadata: []byte("version: 9\n"), ROSDistro: "jazzy",
	})
	require.NoError(t, err)
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	for i := 0; i < n; i += 20 {
		require.NoError(t, w.Write(s.messages[i:min(i+20, n)]))
		require.NoError(t, w.Flush())
		if i >= n/2 && s.early == nil {
			s.early, err = os.ReadFile(path)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Seal([]byte("version: 9\n")))
	s.file, err = os.ReadFile(path)
	require.NoError(t, err)
	s.locate(t)
	return s
}

func (s *sample) locate(t testing.TB) {
	t.Helper()
	type gram [8]byte
	grams := map[gram]int{}
	for i, m := range s.messages {
		for j := 0; j+8 <= len(m.Data); j++ {
			grams[gram(m.Data[j:j+8])] = i
		}
	}
	s.owners, s.ends = map[int]map[int]bool{}, make([]int, len(s.messages))
	for at := 0; at+8 <= len(s.file); at++ {
		i, ok := grams[gram(s.file[at:at+8])]
		if !ok {
			continue
		}
		page := at / testPage
		if s.owners[page] == nil {
			s.owners[page] = map[int]bool{}
		}
		s.owners[page][i] = true
		s.ends[i] = at + 8
	}
	for i := range s.messages {
		require.NotZero(t, s.ends[i])
	}
}

// readAll gives what can be read, and how often damage was met on the way.
func readAll(t testing.TB, file []byte, checked int64, order storage.Order) (*Reader, []storage.Message, int) {
	t.Helper()
	r, err := newReader(&database{path: "x.db3", file: bytes.NewReader(file), size: int64(len(file))}, checked)
	if err != nil {
		var damaged *storage.CorruptionError
		require.ErrorAs(t, err, &damaged)
		return nil, nil, 1
	}
	it, err := r.Messages(storage.Query{Order: order})
	require.NoError(t, err)
	var messages []storage.Message
	faults := 0
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return r, messages, faults
		}
		if err != nil {
			var damaged *storage.CorruptionError
			require.ErrorAs(t, err, &damaged)
			faults++
			require.Less(t, faults, 1000)
			continue
		}
		messages = append(messages, m)
	}
}

// offsets is how many places are tried; ROSBAGD_DAMAGE sets another number.
func offsets(t testing.TB) int {
	t.Helper()
	if text := os.Getenv("ROSBAGD_DAMAGE"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	return 60
}

// modes are the two ways in which a file is opened: gone through, and only looked at at its ends.
func modes(t *testing.T, test func(t *testing.T, checked int64)) {
	t.Run("checked", func(t *testing.T) { test(t, checkedLen) })
	t.Run("unchecked", func(t *testing.T) { test(t, 0) })
}

func TestCutFileGivesEveryWholeMessage(t *testing.T) {
	s := newSample(t, 1, 600)
	random := rand.New(rand.NewPCG(2, 2))
	modes(t, func(t *testing.T, checked int64) {
		for range offsets(t) {
			length := 10*testPage + random.IntN(len(s.file)-10*testPage)
			var want []storage.Message
			for i, m := range s.messages {
				if s.ends[i] <= length {
					want = append(want, m)
				}
			}
			r, got, faults := readAll(t, s.file[:length], checked, storage.ByLogTime)
			require.Zero(t, faults, length)
			s.requireSame(t, want, got, fmt.Sprintf("cut at %d", length))
			require.Contains(t, r.Info().Damage, "it ends too early, "+strconv.Itoa(len(want))+" messages")
			require.Equal(t, uint64(len(want)), r.Info().MessageCount)
			require.Len(t, r.Info().Topics, 2)
		}
	})
}

func TestFileCutNearItsHead(t *testing.T) {
	s := newSample(t, 1, 100)
	for length := 1; length < 10*testPage; length += 97 {
		db := &database{path: "x.db3", file: bytes.NewReader(s.file[:length]), size: int64(length)}
		r, err := newReader(db, checkedLen)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			continue
		}
		for _, m := range query(t, r, storage.Query{}) {
			s.requireOriginal(t, m)
		}
	}
}

func (s *sample) requireOriginal(t testing.TB, m storage.Message) {
	t.Helper()
	at, ok := slices.BinarySearchFunc(s.messages, m.LogTimeNanos, func(o storage.Message, nanos int64) int {
		return cmp.Compare(o.LogTimeNanos, nanos)
	})
	require.True(t, ok)
	require.True(t, bytes.Equal(s.messages[at].Data, m.Data))
}

func (s *sample) requireSame(t testing.TB, want, got []storage.Message, where string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: want %d messages, got %d", where, len(want), len(got))
	}
	for i := range want {
		if want[i].LogTimeNanos != got[i].LogTimeNanos || !bytes.Equal(want[i].Data, got[i].Data) ||
			want[i].Topic != got[i].Topic {
			t.Fatalf("%s: message %d is another one", where, i)
		}
	}
}

// requireKept checks a file in which some pages were touched: every message elsewhere is there once and right; what is
// given of the touched pages is one of their messages, with at most spoiled bytes that differ.
func (s *sample) requireKept(t *testing.T, touched map[int]bool, got []storage.Message, spoiled int, where string) {
	t.Helper()
	hurt := map[int]bool{}
	for page := range touched {
		for i := range s.owners[page] {
			hurt[i] = true
		}
	}
	seen := make([]int, len(s.messages))
	for _, m := range got {
		at, ok := slices.BinarySearchFunc(s.messages, m.LogTimeNanos, func(o storage.Message, nanos int64) int {
			return cmp.Compare(o.LogTimeNanos, nanos)
		})
		if ok && bytes.Equal(s.messages[at].Data, m.Data) && s.messages[at].Topic == m.Topic {
			seen[at]++
			continue
		}
		like := func(i int) bool {
			return len(s.messages[i].Data) == len(m.Data) && distance(s.messages[i].Data, m.Data) <= spoiled
		}
		found := false
		for i := range hurt {
			found = found || like(i)
		}
		if !found {
			t.Fatalf("%s: a message of %d bytes at %d that was never written", where, len(m.Data), m.LogTimeNanos)
		}
	}
	for i, n := range seen {
		if n > 1 {
			t.Fatalf("%s: message %d given %d times", where, i, n)
		}
		if n == 0 && !hurt[i] {
			t.Fatalf("%s: message %d is missing although its pages were not touched", where, i)
		}
	}
}

func distance(a, b []byte) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// skipPages are those of the header and of the small tables: what they hold is needed to name topics.
const skipPages = 5

func TestFlippedByteCostsItsPageOnly(t *testing.T) {
	s := newSample(t, 3, 600)
	random := rand.New(rand.NewPCG(4, 4))
	modes(t, func(t *testing.T, checked int64) {
		for n := range 2 * offsets(t) {
			file := bytes.Clone(s.file)
			at := skipPages*testPage + random.IntN(len(file)-skipPages*testPage)
			if n%2 == 0 { // the heads of pages and of cells are where it hurts
				at = at/testPage*testPage + random.IntN(80)
			}
			file[at] ^= 1 << random.IntN(8)
			for _, order := range []storage.Order{storage.ByLogTime, storage.ByFile} {
				_, got, _ := readAll(t, file, checked, order)
				s.requireKept(t, map[int]bool{at / testPage: true}, got, 1, fmt.Sprintf("byte %d, order %d", at, order))
			}
		}
	})
}

func TestZeroedPagesCostThemselvesOnly(t *testing.T) {
	s := newSample(t, 5, 600)
	random := rand.New(rand.NewPCG(6, 6))
	pages := len(s.file) / testPage
	modes(t, func(t *testing.T, checked int64) {
		for n := range offsets(t) {
			file := bytes.Clone(s.file)
			touched := map[int]bool{}
			first, count := skipPages+random.IntN(pages-skipPages), 1+random.IntN(3)
			if n%3 == 0 { // a tail that was never written
				count = pages - first
			}
			for page := first; page < min(first+count, pages); page++ {
				clear(file[page*testPage : (page+1)*testPage])
				touched[page] = true
			}
			_, got, _ := readAll(t, file, checked, storage.ByLogTime)
			spoiled := 0
			if count == 1 || checked == 0 {
				// Nothing tells the last page of a payload from one that has always been zero, but its neighbours.
				spoiled = testPage
			}
			s.requireKept(t, touched, got, spoiled, fmt.Sprintf("pages %d to %d", first, first+count))
			require.True(t, slices.IsSortedFunc(got, func(a, b storage.Message) int {
				return cmp.Compare(a.LogTimeNanos, b.LogTimeNanos)
			}))
		}
	})
}

// A loss of power leaves some pages as they were before, in any mixture, and the end of the file unwritten.
func TestLostPagesCostThemselvesOnly(t *testing.T) {
	s := newSample(t, 7, 600)
	pages := len(s.file) / testPage
	modes(t, func(t *testing.T, checked int64) {
		for n := range offsets(t) {
			random := rand.New(rand.NewPCG(8, uint64(n)))
			file := bytes.Clone(s.file)
			touched := map[int]bool{}
			for page := skipPages; page < pages; page++ {
				if random.IntN(1+n%40) != 0 {
					continue
				}
				clear(file[page*testPage : (page+1)*testPage])
				if (page+1)*testPage <= len(s.early) {
					copy(file[page*testPage:(page+1)*testPage], s.early[page*testPage:])
				}
				if !bytes.Equal(file[page*testPage:(page+1)*testPage], s.file[page*testPage:(page+1)*testPage]) {
					touched[page] = true
				}
			}
			_, got, _ := readAll(t, file, checked, storage.ByLogTime)
			s.requireKept(t, touched, got, testPage, fmt.Sprintf("round %d", n))
		}
	})
}
