package mcap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
	"rosbagd/storage/storagetest"
)

// TestOffersChangeUntilTheChannelIsWritten: a topic's publishers are found one after the other.
func TestOffersChangeUntilTheChannelIsWritten(t *testing.T) {
	w, path := newWriter(t, Options{})
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	first := storagetest.Topic("/a").OfferedQoS
	both := append(storagetest.Topic("/a").OfferedQoS, qos.Default())
	require.True(t, w.UpdateOffers(0, both))
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	require.True(t, w.UpdateOffers(1, both))
	require.NoError(t, w.Flush())
	require.False(t, w.UpdateOffers(0, first))
	require.False(t, w.UpdateOffers(1, first), "a flush writes what a topic without messages needs")
	require.False(t, w.UpdateOffers(2, first), "no such topic")
	c, err := w.AddTopic(storagetest.Topic("/c"))
	require.NoError(t, err)
	require.True(t, w.UpdateOffers(c, both))
	require.NoError(t, w.Seal(nil))
	for _, topic := range openFile(t, path).Info().Topics {
		require.Equal(t, both, topic.OfferedQoS, topic.Name)
	}
}
