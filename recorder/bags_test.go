package recorder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/node"
	"rosbagd/storage/qos"
)

// readBag gives the payloads of a bag by topic, in the order of the bag.
func readBag(t *testing.T, path string) (map[string][]string, bag.Metadata) {
	reader, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	require.True(t, reader.CheckFiles()) // offers of publishers that came late are in the files
	it, err := reader.Messages(bag.Query{})
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	payloads := map[string][]string{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return payloads, reader.Metadata()
		}
		require.NoError(t, err)
		name := reader.Topics()[m.Topic].Name
		payloads[name] = append(payloads[name], string(m.Data))
	}
}

func TestRealBags(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "deep", "bag")
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
		h.Recorder.env.Bags = NewBags(bag.WriterOptions{})
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.graph.set("/quiet", stringType, volatilePublisher(2))
		h.run()
		require.NoError(t, h.Record(path))
		synctest.Wait()
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 1), message(id, 1, 2))
		require.NoError(t, h.Split())
		h.sub.give(message(id, 1, 5))
		h.graph.set("/a", stringType, volatilePublisher(1), publisher(3, qos.BestEffort, qos.Volatile))
		pass(h.Recorder.opts.PollingInterval)
		h.sub.give(node.Message{Subscription: id, Sequence: node.NoSequence, ReceivedNanos: 9e6, SourceNanos: 8e6, Data: []byte("9")})
		require.NoError(t, h.Stop())
		require.NoError(t, h.Record(path)) // again: the old bag stays as it is
		synctest.Wait()
		h.sub.give(message(h.sub.ids("/a")[0], 1, 6))
		require.NoError(t, h.shutdown())
		require.Len(t, h.events.splits, 3)
		for _, event := range h.events.splits {
			require.FileExists(t, event.ClosedFile)
		}
	})

	payloads, metadata := readBag(t, path)
	require.Equal(t, map[string][]string{"/a": {"1", "2", "5", "9"}}, payloads)
	require.Len(t, metadata.Files, 2)
	require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=0 overflowed=unknown lost=2"}, metadata.CustomData)
	offers := map[string]int{}
	for _, topic := range metadata.Topics {
		offers[topic.Name] = len(topic.OfferedQoS)
	}
	require.Equal(t, map[string]int{"/a": 2, "/quiet": 1}, offers, "topics without messages are kept")
	payloads, metadata = readBag(t, path+"(1)")
	require.Equal(t, map[string][]string{"/a": {"6"}}, payloads)
	require.Empty(t, metadata.CustomData)
}

func TestRealBagThatCanNotBeCreated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		h.Recorder.env.Bags = NewBags(bag.WriterOptions{})
		h.run()
		require.ErrorContains(t, h.Record(filepath.Join(file, "bag")), "create bag")
		require.False(t, h.IsRecording())
		require.NoError(t, h.shutdown())
	})
}
