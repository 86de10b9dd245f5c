package bag

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// powerCuts is how many losses of power are simulated.
const powerCuts = "ROSBAGD_TEST_POWER_CUTS"

// cutsOfAStory is how many of them fall upon the same recording.
const cutsOfAStory = 20

// story is a recording in which one step follows another, so that the test knows at each operation what was promised.
type story struct {
	t       *testing.T
	w       *Writer
	disk    *simulatedDisk
	begins  []int // the number of the first message of each file
	written int
}

func newStory(t *testing.T, mode string) *story {
	disk := &simulatedDisk{}
	on := ground{
		lookup: formats.Lookup, files: diskFiles{disk},
		open: func(path string) (directory, error) {
			opened, err := openDirectory(path)
			return diskDirectory{opened, disk}, err
		},
	}
	w, err := createOn(on, filepath.Join(t.TempDir(), "demo"), WriterOptions{CompressionMode: mode})
	require.NoError(t, err)
	s := &story{t: t, w: w, disk: disk, begins: []int{0}}
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	return s
}

func (s *story) promise(begin, end int) {
	s.disk.did(operation{kind: promiseOp, promise: promise{begin, end}})
}

func (s *story) write(n int) {
	require.NoError(s.t, s.w.Write(numberedMessages(s.written, s.written+n)))
	s.written += n
}

func (s *story) flush() {
	require.NoError(s.t, s.w.current.writer.Flush())
	s.w.unsynced = true
}

func (s *story) sync() {
	s.flush()
	require.NoError(s.t, s.w.sync())
	s.promise(s.begins[len(s.begins)-1], s.written)
}

func (s *story) split() {
	_, _, err := s.w.Split()
	require.NoError(s.t, err)
	s.begins = append(s.begins, s.written)
}

// seal finishes the oldest file that waits for it.
func (s *story) seal() {
	if p := s.w.pop(&s.w.closing, s.w.closable); p != nil {
		require.NoError(s.t, s.w.sealPart(p))
		at := s.w.position(p)
		s.promise(s.begins[at], s.begins[at+1])
	}
}

func (s *story) compress() {
	if p := s.w.pop(&s.w.uncompressed, s.w.sealedFile); p != nil {
		require.NoError(s.t, s.w.compressPart(context.Background(), p))
	}
}

func (s *story) end() {
	require.NoError(s.t, s.w.Seal())
	s.promise(0, s.written)
}

// TestPowerCutsLoseNothingThatWasSynced makes many of the states that a loss of power may leave behind. What was synced
// is there, no message is there twice, and the order is kept.
func TestPowerCutsLoseNothingThatWasSynced(t *testing.T) {
	modes := []string{"", CompressionFile, CompressionMessage}
	for seed := range rounds(t, powerCuts, 120) / cutsOfAStory {
		random := rand.New(rand.NewPCG(uint64(seed), 7))
		s := newStory(t, modes[seed%len(modes)])
		for range 30 {
			switch random.IntN(6) {
			case 0, 1:
				s.write(1 + random.IntN(200))
			case 2:
				s.flush()
			case 3:
				s.sync()
			case 4:
				s.split()
			case 5:
				s.seal()
				s.compress()
			}
		}
		s.end()
		for range cutsOfAStory {
			at := random.IntN(len(s.disk.operations) + 1)
			directory := filepath.Join(t.TempDir(), "demo")
			require.NoError(t, makeDirectory(directory))
			promises := s.disk.cut(t, at, random, directory)
			requireKept(t, directory, promises)
			if t.Failed() {
				t.Fatalf("story %d (%s), cut after %d operations", seed, modes[seed%len(modes)], at)
			}
		}
	}
}

// requireKept reads a bag after a loss of power: every promised message is there, none twice, none changed.
func requireKept(t *testing.T, directory string, promises []promise) {
	t.Helper()
	r, err := Open(directory, ReaderOptions{})
	if err != nil {
		for _, p := range promises {
			require.Equal(t, p.begin, p.end, "%v", err)
		}
		return
	}
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Messages(Query{})
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	found := map[int]bool{}
	last := -1
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var corruption *storage.CorruptionError
		if errors.As(err, &corruption) {
			continue
		}
		require.NoError(t, err)
		n := int(m.LogTimeNanos-1_700_000_000_000_000_000) / 1_000_000
		want := numberedMessage(n)
		require.Equal(t, want.Data, m.Data)
		require.Greater(t, n, last, "order, and none twice")
		last = n
		found[n] = true
	}
	for _, p := range promises {
		for n := p.begin; n < p.end; n++ {
			require.True(t, found[n], "message %d was synced and is lost; notes: %v", n, r.Notes())
		}
	}
}
