package bag

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/storagetest"
)

// numberedMessage is message i of a test: its payload tells which it is, and its time follows from that.
func numberedMessage(i int) storage.Message {
	data := make([]byte, 8+i%300)
	binary.LittleEndian.PutUint64(data, uint64(i))
	for j := 8; j < len(data); j++ {
		data[j] = byte(i * j)
	}
	at := int64(1_700_000_000_000_000_000 + i*1_000_000)
	return storage.Message{Topic: storage.TopicID(i % 2), LogTimeNanos: at, PublishTimeNanos: at, Data: data}
}

func numberedMessages(from, until int) []storage.Message {
	messages := make([]storage.Message, 0, until-from)
	for i := from; i < until; i++ {
		messages = append(messages, numberedMessage(i))
	}
	return messages
}

// requireNumbered checks that messages are number 0 and on, each once and in order, and at least as many as were
// promised.
func requireNumbered(t *testing.T, messages []storage.Message, least int) {
	t.Helper()
	for i, m := range messages {
		want := numberedMessage(i)
		want.PublishTimeNanos, want.Topic = m.PublishTimeNanos, m.Topic // not every storage keeps the one, a reader may number the other
		require.Equal(t, want, m)
	}
	require.GreaterOrEqual(t, len(messages), least, "messages that were flushed are missing")
}

// rawMessages reads a bag's files past Reader: of a file that is there twice, plain and compressed, one. Torn files give
// what they have.
func rawMessages(t *testing.T, directory string) []storage.Message {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	files := map[string]string{} // by name without the compressor's extension
	for _, entry := range entries {
		name := entry.Name()
		stem := strings.TrimSuffix(name, ".zstd")
		if !slices.Contains([]string{".mcap", ".db3"}, filepath.Ext(stem)) {
			continue
		}
		path := filepath.Join(directory, name)
		if stem != name {
			packed, err := os.ReadFile(path)
			require.NoError(t, err)
			content, err := decoder.DecodeAll(packed, nil)
			require.NoError(t, err, "a compressed file under its final name is whole")
			path = filepath.Join(t.TempDir(), stem)
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
		if files[stem] == "" || stem == name {
			files[stem] = path
		}
	}
	stems := make([]string, 0, len(files))
	for stem := range files {
		stems = append(stems, stem)
	}
	number := func(stem string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(stem[strings.LastIndex(stem, "_")+1:], filepath.Ext(stem)))
		require.NoError(t, err)
		return n
	}
	slices.SortFunc(stems, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	var messages []storage.Message
	for _, stem := range stems {
		messages = append(messages, rawFile(t, files[stem], decoder)...)
	}
	return messages
}

func rawFile(t *testing.T, path string, decoder *zstd.Decoder) []storage.Message {
	t.Helper()
	format, err := formats.Detect(path)
	if errors.Is(err, storage.ErrEmpty) {
		return nil // it was just made
	}
	require.NoError(t, err)
	r, err := format.Open(path, storage.OpenOptions{})
	if errors.Is(err, storage.ErrUnknownFormat) {
		return nil // a database whose tables were not made yet
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Messages(storage.Query{Order: storage.ByFile})
	require.NoError(t, err)
	messages := storagetest.All(t, it)
	copied, err := DecodeMetadata(path, r.Info().Metadata)
	if err == nil && copied.CompressionMode == CompressionMessage {
		for i := range messages {
			messages[i].Data, err = decoder.DecodeAll(messages[i].Data, nil)
			require.NoError(t, err)
		}
	}
	return messages
}

// The environment of a process that is to be killed, which is this test binary once more.
const (
	killedPath    = "ROSBAGD_TEST_KILLED_BAG"
	killedStorage = "ROSBAGD_TEST_KILLED_STORAGE"
	killedMode    = "ROSBAGD_TEST_KILLED_COMPRESSION"
	// killedRounds is how many writers are killed.
	killedRounds = "ROSBAGD_TEST_KILLS"
)

// writeUntilKilled writes numbered messages for ever and tells on standard output how many are flushed.
func writeUntilKilled() error {
	w, err := Create(os.Getenv(killedPath), WriterOptions{
		StorageID: os.Getenv(killedStorage), CompressionMode: os.Getenv(killedMode), MaxSize: 100_000,
		FlushAge: 8 * time.Millisecond, SyncAge: 40 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"/a", "/b"} {
		if _, err := w.AddTopic(storagetest.Topic(name)); err != nil {
			return err
		}
	}
	go func() { fmt.Println("failed", w.Run(context.Background())) }()
	pace, flushed := time.NewTicker(time.Millisecond), 0
	for n := 0; ; n += 20 {
		<-pace.C
		w.mu.Lock()
		if w.unflushed.IsZero() {
			flushed = n
		}
		w.mu.Unlock()
		fmt.Println(flushed)
		if err := w.Write(numberedMessages(n, n+20)); err != nil {
			return err
		}
	}
}

func rounds(t *testing.T, variable string, usual int) int {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}

// TestKilledWriterLosesNothingThatWasFlushed kills a real process at any moment of writing, splitting, sealing,
// compressing and renaming. What it said to be flushed is there, nothing is there twice, and the order is kept.
func TestKilledWriterLosesNothingThatWasFlushed(t *testing.T) {
	kinds := []struct{ storage, mode string }{
		{"mcap", ""},
		{"mcap", CompressionFile},
		{"mcap", CompressionMessage},
		{"sqlite3", ""},
		{"sqlite3", CompressionFile},
		{"sqlite3", CompressionMessage},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range rounds(t, killedRounds, 20) {
		kind := kinds[round%len(kinds)]
		path := filepath.Join(t.TempDir(), "demo")
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), killedPath+"="+path, killedStorage+"="+kind.storage, killedMode+"="+kind.mode)
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		flushed := 0
		lines := bufio.NewScanner(out)
		for range 1 + random.IntN(150) {
			if !lines.Scan() {
				break
			}
			require.NotContains(t, lines.Text(), "failed")
			flushed, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.NoError(t, command.Process.Kill())
		for lines.Scan() { // what it said before it died holds too
			flushed, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.Error(t, command.Wait())
		messages := rawMessages(t, path)
		requireNumbered(t, messages, flushed)
		if len(messages) == 0 {
			// The only file may be empty, which Open refuses.
			require.Zero(t, flushed)
			continue
		}
		read, metadata := readAll(t, path)
		requireNumbered(t, read, len(messages))
		require.EqualValues(t, len(read), metadata.MessageCount)
		if err := os.Remove(filepath.Join(path, MetadataName)); err == nil {
			read, _ = readAll(t, path)
			requireNumbered(t, read, len(messages))
		}
		t.Logf("%s %s: %d messages, %d flushed", kind.storage, kind.mode, len(messages), flushed)
	}
}
