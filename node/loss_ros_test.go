//go:build ros

package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

// lossesOf takes until a message has this text, and counts what was told as lost until then.
func lossesOf(ctx context.Context, t testing.TB, n *Node, last string) (all []received, lost uint64) {
	t.Helper()
	for {
		batch, err := n.Take(ctx)
		require.NoError(t, err)
		require.True(t, batch.TellsLosses)
		for _, loss := range batch.Losses {
			lost += loss.Count
		}
		all = append(all, messagesOf(batch)...)
		batch.Release()
		if len(all) > 0 && all[len(all)-1].text == last {
			return all, lost
		}
	}
}

// What our own history pushes out while nobody takes shows as a gap in the numbers, and as no loss in transport.
func TestOverflowOfOurHistoryIsNoLossInTransport(t *testing.T) {
	ctx := deadline(t)
	sender, receiver := openNode(t, "flood"), openNode(t, "slow")
	publisher, err := sender.CreatePublisher("/flood", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	_, err = receiver.Subscribe("/flood", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	require.NoError(t, publisher.Publish(stringMessage("first")))
	first := takeN(ctx, t, receiver, 1)[0]
	for i := range 100 {
		require.NoError(t, publisher.Publish(stringMessage(fmt.Sprint(i))))
	}
	acked, err := publisher.WaitAcked(time.Minute)
	require.NoError(t, err)
	require.True(t, acked)
	all, lost := lossesOf(ctx, t, receiver, "99")
	require.Len(t, all, 10, "the newest ones")
	require.Equal(t, first.sequence+91, all[0].sequence)
	require.Zero(t, lost)
}

// Who joins late has not lost what was before.
func TestLateJoinerHasLostNothing(t *testing.T) {
	for name, profile := range map[string]qos.Profile{
		"reliable": reliable(1), "best effort": {History: qos.KeepLast, Depth: 1, Reliability: qos.BestEffort, Durability: qos.Volatile},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			sender, receiver := openNode(t, "early"), openNode(t, "late")
			publisher, err := sender.CreatePublisher("/early", "std_msgs/msg/String", profile)
			require.NoError(t, err)
			for range 50 {
				require.NoError(t, publisher.Publish(stringMessage("before")))
			}
			profile.Depth = 100
			_, err = receiver.Subscribe("/early", "std_msgs/msg/String", profile)
			require.NoError(t, err)
			waitMatched(ctx, t, publisher, 1)
			for lost, got := uint64(0), 0; got == 0; { // the first ones may come before both sides know of each other
				require.NoError(t, publisher.Publish(stringMessage("after")))
				receiver.Flush()
				batch, err := receiver.Take(ctx)
				require.NoError(t, err)
				if batch != nil {
					for _, loss := range batch.Losses {
						lost += loss.Count
					}
					got += len(batch.Messages)
					batch.Release()
				}
				require.Zero(t, lost)
			}
		})
	}
}

// A middleware without callbacks is looked at, and nothing is missed.
func TestSweepingWhereNobodyCalls(t *testing.T) {
	ctx := deadline(t)
	sender := openNode(t, "sender")
	receiver, err := Open(Options{Name: "sweeper", neverCalled: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, receiver.Close()) })
	publisher, err := sender.CreatePublisher("/swept", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	id, err := receiver.Subscribe("/swept", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	for i := range 500 {
		require.NoError(t, publisher.Publish(stringMessage(fmt.Sprint(i))))
	}
	for i, m := range takeN(ctx, t, receiver, 500) {
		require.Equal(t, fmt.Sprint(i), m.text)
	}
	require.True(t, receiver.polled.Load())
	require.NoError(t, receiver.Unsubscribe(id))
	receiver.Flush()
	batch, err := receiver.Take(ctx)
	require.NoError(t, err)
	require.Nil(t, batch)
}

// The middleware of this machine stamps as the table says.
func TestStampsAreWhatTheTableSays(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "stamped")
	require.True(t, n.Middleware().Known)
	publisher, err := n.CreatePublisher("/stamped", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	_, err = n.Subscribe("/stamped", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	for range checkedBatches { // as many messages, one batch each
		require.False(t, n.stamps.over)
		require.NoError(t, publisher.Publish(stringMessage("x")))
		takeN(ctx, t, n, 1)
	}
	require.True(t, n.stamps.over)
	require.Equal(t, n.Middleware().Stamping == StampedAtArrival, 2*n.stamps.late < n.stamps.batches)
}

// A middleware whose stamps turn out to be made late is taken from at once from then on.
func TestStampsThatAreMadeLateEndGathering(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "late_stamps")
	publisher, err := n.CreatePublisher("/late", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	_, err = n.Subscribe("/late", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	require.True(t, n.gathers())
	for range checkedBatches {
		n.checkStamps([]Message{{ReceivedNanos: 2}}, 1)
	}
	require.False(t, n.gathers())
	for i := range 100 {
		require.NoError(t, publisher.Publish(stringMessage(fmt.Sprint(i))))
	}
	for i, m := range takeN(ctx, t, n, 100) {
		require.Equal(t, fmt.Sprint(i), m.text)
	}
}
