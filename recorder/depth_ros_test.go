//go:build ros

package recorder

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"rosbagd/bag"
	"rosbagd/storage/qos"
)

// While a real publisher goes on, its subscription is replaced by one of another depth: each message is in the bag once.
func TestRealSubscriptionIsReplacedWithoutLoss(t *testing.T) {
	for name, durability := range map[string]qos.Durability{"volatile": qos.Volatile, "latched": qos.TransientLocal} {
		t.Run(name, func(t *testing.T) {
			ownDomain(t)
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			sender, receiver := realNode(t, "sender"), realNode(t, "receiver")
			profile := qos.Default()
			profile.Depth, profile.Durability = 1000, durability
			publisher, err := sender.CreatePublisher("/sized", stringType, profile)
			require.NoError(t, err)
			r := New(Options{Filter: Filter{Topics: []string{"/sized"}}, MaxCacheSize: DefaultMaxCacheSize, HistoryBytes: 100_000}, Environment{
				Graph: receiver, Subscriber: receiver, Logger: zap.NewNop(), Bags: NewBags(bag.WriterOptions{StorageID: "mcap"}),
			})
			running, stop := context.WithCancel(ctx)
			defer stop()
			done := make(chan error, 1)
			go func() { done <- r.Run(running) }()
			directory := filepath.Join(t.TempDir(), "bag")
			require.Eventually(t, func() bool { return r.Record(directory) == nil }, time.Minute, time.Millisecond)

			// The subscription that is there at first, two of them for a while, one again.
			sent := 0
			for _, wanted := range []int{1, 2, 1} {
				for {
					count, err := publisher.Subscriptions()
					require.NoError(t, err)
					if count == wanted {
						break
					}
					if wanted != 1 || sent > 0 {
						require.NoError(t, publisher.Publish(stringData(fmt.Sprintf("%01000d", sent))))
						sent++
					}
					_, err = sender.Changed(ctx, time.Millisecond)
					require.NoError(t, err)
				}
			}
			acked, err := publisher.WaitAcked(time.Minute)
			require.NoError(t, err)
			require.True(t, acked)
			require.NoError(t, r.Stop())
			stop()
			require.NoError(t, <-done)
			stats := r.Stats()
			require.Len(t, stats, 1)
			require.EqualValues(t, sent, stats[0].Written)
			require.Zero(t, stats[0].Overflowed+stats[0].Lost+stats[0].Dropped)
		})
	}
}
