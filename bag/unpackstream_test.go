package bag_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// largeMessages are of 1 MiB each, received at these times.
func largeMessages(times ...int64) []storage.Message {
	var messages []storage.Message
	for i, received := range times {
		m := at(storage.TopicID(i%2), received, received)
		m.Data = make([]byte, 1<<20)
		m.Data[0], m.Data[1] = byte(i), byte(i>>8)
		messages = append(messages, m)
	}
	return messages
}

func upTo(n int) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(i+1) * 10
	}
	return times
}

// packedBag is a bag of one compressed file.
func packedBag(t *testing.T, messages []storage.Message) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "x")
	writeBag(t, directory, ".mcap", messages)
	packFile(t, filepath.Join(directory, "x_0.mcap"))
	return directory
}

// receivedAt are the times of messages, from the second that all are behind.
func receivedAt(messages []storage.Message) []int64 {
	var times []int64
	for _, m := range messages {
		times = append(times, m.LogTimeNanos-1e9)
	}
	return times
}

// hold lets a file be unpacked up to some bytes, and on when it is released.
type hold struct {
	bytes   int64
	release chan struct{}
}

func (h *hold) progress(p bag.UnpackProgress) {
	if p.Bytes >= h.bytes {
		<-h.release
	}
}

// TestMessagesComeWhileTheFileIsUnpacked: by log time, as they stand in the file, and of one topic.
func TestMessagesComeWhileTheFileIsUnpacked(t *testing.T) {
	times := upTo(40)
	for i := 4; i+3 < len(times); i += 4 { // as several publishers are received
		times[i], times[i+3] = times[i+3], times[i]
	}
	directory := packedBag(t, largeMessages(times...))
	for name, query := range map[string]storage.Query{
		"by log time": {Order: storage.ByLogTime},
		"by file":     {Order: storage.ByFile},
		"one topic":   {Topics: []storage.TopicID{1}},
		"until":       {HasUntil: true, UntilNanos: 1e9 + 300},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			h := &hold{bytes: 36 << 20, release: make(chan struct{})}
			var once sync.Once
			release := func() { once.Do(func() { close(h.release) }) }
			defer release()
			r := openUnpacking(t, directory, bag.UnpackOptions{Directory: cache, StreamAbove: 1, Progress: h.progress})
			defer func() { require.NoError(t, r.Close()) }()
			it, err := r.Messages(bag.Query{Query: query})
			require.NoError(t, err)
			first, err := it.Next()
			require.NoError(t, err)
			names := cached(t, cache)
			require.Len(t, names, 1)
			require.True(t, strings.HasSuffix(names[0], ".part"), "it is not whole yet")
			definition, err := r.Definition(1)
			require.NoError(t, err)
			require.Equal(t, storagetest.Topic("/b").Definition, definition)
			release()
			messages, faults := drain(t, it)
			require.Empty(t, faults)
			require.Empty(t, r.Notes())
			streamed := append([]storage.Message{first}, messages...)

			// The same out of the cache.
			require.Equal(t, receivedAt(read(t, r, bag.Query{Query: query})), receivedAt(streamed))
			require.NotEmpty(t, streamed)
		})
	}
}

// TestOrderWhileUnpacking: the first message in time may stand anywhere in the file.
func TestOrderWhileUnpacking(t *testing.T) {
	for _, place := range []int{0, 10, 30, 44, 59} {
		times := upTo(60)
		times[place] = 5
		directory := packedBag(t, largeMessages(times...))
		r := openUnpacking(t, directory, bag.UnpackOptions{Directory: t.TempDir(), StreamAbove: 1})
		got := receivedAt(read(t, r, bag.Query{}))
		require.Len(t, got, 60)
		require.IsNonDecreasing(t, got, "message %d is the first", place)
		require.Empty(t, r.Notes())
		require.NoError(t, r.Close())
	}
}

// TestMessagesFarOutOfOrderAreGivenLate, once, with a note; the next time they are in order.
func TestMessagesFarOutOfOrderAreGivenLate(t *testing.T) {
	times := upTo(60)
	times[50] = 105
	directory := packedBag(t, largeMessages(times...))
	h := &hold{bytes: 40 << 20, release: make(chan struct{})}
	r := openUnpacking(t, directory, bag.UnpackOptions{Directory: t.TempDir(), StreamAbove: 1, Progress: h.progress})
	it, err := r.Messages(bag.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.NoError(t, err)
	close(h.release)
	rest, faults := drain(t, it)
	require.Empty(t, faults)
	require.Len(t, rest, 59)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], "out of order")
	got := receivedAt(read(t, r, bag.Query{}))
	require.IsNonDecreasing(t, got)
	require.Len(t, got, 60)
	require.NoError(t, r.Close())
}

// TestSeekWaitsForTheFile, as does the order by publish time.
func TestSeekWaitsForTheFile(t *testing.T) {
	directory := packedBag(t, largeMessages(upTo(40)...))
	for _, query := range []storage.Query{{FromNanos: 1e9 + 350}, {Order: storage.ByPublishTime}} {
		r := openUnpacking(t, directory, bag.UnpackOptions{Directory: t.TempDir(), StreamAbove: 1})
		got := receivedAt(read(t, r, bag.Query{Query: query}))
		require.IsNonDecreasing(t, got)
		require.Equal(t, max(query.FromNanos-1e9, 10), got[0])
		require.NoError(t, r.Close())
	}
}

// TestCloseWhileUnpackingLeavesNothingHalf behind.
func TestCloseWhileUnpackingLeavesNothingHalf(t *testing.T) {
	directory := packedBag(t, largeMessages(upTo(40)...))
	cache := t.TempDir()
	begun, closing := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := openUnpacking(t, directory, bag.UnpackOptions{Directory: cache, StreamAbove: 1, Progress: func(bag.UnpackProgress) {
		once.Do(func() { close(begun) })
		<-closing
	}})
	it, err := r.Messages(bag.Query{Query: storage.Query{Order: storage.ByFile}})
	require.NoError(t, err)
	<-begun
	require.NoError(t, it.Close())
	close(closing)
	require.NoError(t, r.Close())
	for _, name := range cached(t, cache) {
		require.True(t, strings.HasSuffix(name, "-whole.mcap"), name)
	}
}
