//go:build ros

package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

func reliable(depth int) qos.Profile {
	p := qos.Default()
	p.Depth = depth
	return p
}

func TestMessagesArriveWholeInOrderAndNumbered(t *testing.T) {
	ctx := deadline(t)
	sender, receiver := openNode(t, "sender"), openNode(t, "receiver")
	id, err := receiver.Subscribe("/numbers", "std_msgs/msg/String", reliable(5000))
	require.NoError(t, err)
	publisher, err := sender.CreatePublisher("/numbers", "std_msgs/msg/String", reliable(5000))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)

	const count = 2000
	before := time.Now().UnixNano()
	go func() {
		for i := range count {
			// Sizes from a few bytes to more than a block, so that payloads cross every kind of border.
			if err := publisher.Publish(stringMessage(fmt.Sprintf("%d:%s", i, strings.Repeat("x", i*37%70000)))); err != nil {
				t.Error(err)
			}
		}
	}()
	all := takeN(ctx, t, receiver, count)
	after := time.Now().UnixNano()
	endpoints, err := receiver.Publishers("/numbers")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	for i, m := range all {
		require.Equal(t, fmt.Sprintf("%d:%s", i, strings.Repeat("x", i*37%70000)), m.text)
		require.Equal(t, id, m.sub)
		require.Equal(t, all[0].sequence+uint64(i), m.sequence)
		require.Equal(t, endpoints[0].GID, m.gid, "the GID of a message is the one that the graph shows")
		require.LessOrEqual(t, before, m.source)
		require.LessOrEqual(t, m.source, m.sorted)
		require.LessOrEqual(t, m.sorted, after)
	}
}

// A subscription gets what its own context publishes, and one of another context in the same process gets it too.
func TestContextsOfOneProcessHearEachOther(t *testing.T) {
	ctx := deadline(t)
	one, two := openNode(t, "one"), openNode(t, "two")
	for _, n := range []*Node{one, two} {
		_, err := n.Subscribe("/shared", "std_msgs/msg/String", reliable(100))
		require.NoError(t, err)
	}
	var publishers []*Publisher
	for _, n := range []*Node{one, two} {
		publisher, err := n.CreatePublisher("/shared", "std_msgs/msg/String", reliable(100))
		require.NoError(t, err)
		waitMatched(ctx, t, publisher, 2)
		publishers = append(publishers, publisher)
	}
	var want []string
	for i := range 20 {
		for name, publisher := range publishers {
			text := fmt.Sprintf("%d of %d", i, name)
			require.NoError(t, publisher.Publish(stringMessage(text)))
			want = append(want, text)
		}
	}
	for _, n := range []*Node{one, two} {
		var got []string
		for _, m := range takeN(ctx, t, n, len(want)) {
			got = append(got, m.text)
		}
		require.ElementsMatch(t, want, got)
	}
}

func TestMessagesLargerThanAnyBlock(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "large")
	_, err := n.Subscribe("/large", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	publisher, err := n.CreatePublisher("/large", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	want := strings.Repeat("0123456789abcdef", 20<<20/16)
	require.NoError(t, publisher.Publish(stringMessage(want)))
	all := takeN(ctx, t, n, 1)
	require.True(t, want == all[0].text, "20 MB come through byte for byte")
}

func TestLatchedMessagesReachALateSubscription(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "latched")
	latched := qos.Profile{History: qos.KeepLast, Depth: 25, Reliability: qos.Reliable, Durability: qos.TransientLocal}
	publisher, err := n.CreatePublisher("/latched", "std_msgs/msg/String", latched)
	require.NoError(t, err)
	for i := range 25 {
		require.NoError(t, publisher.Publish(stringMessage(fmt.Sprint(i))))
	}
	_, err = n.Subscribe("/latched", "std_msgs/msg/String", latched)
	require.NoError(t, err)
	all := takeN(ctx, t, n, 25)
	for i, m := range all {
		require.Equal(t, fmt.Sprint(i), m.text)
	}
}

// Subscriptions and publishers come and go while another goroutine takes.
func TestAddAndRemoveWhileTaking(t *testing.T) {
	ctx, cancel := context.WithCancel(deadline(t))
	n := openNode(t, "busy")
	var taking sync.WaitGroup
	taking.Add(1)
	got := make(chan struct{}, 1000)
	go func() {
		defer taking.Done()
		for {
			batch, err := n.Take(ctx)
			if err != nil {
				return
			}
			for range batch.Messages {
				got <- struct{}{}
			}
			batch.Release()
		}
	}()
	for i := range 20 {
		topic := fmt.Sprintf("/busy%d", i)
		id, err := n.Subscribe(topic, "std_msgs/msg/String", reliable(10))
		require.NoError(t, err)
		publisher, err := n.CreatePublisher(topic, "std_msgs/msg/String", reliable(10))
		require.NoError(t, err)
		waitMatched(ctx, t, publisher, 1)
		require.NoError(t, publisher.Publish(stringMessage("x")))
		<-got
		require.NoError(t, n.Unsubscribe(id))
		require.NoError(t, publisher.Close())
		require.ErrorIs(t, publisher.Publish(stringMessage("x")), ErrClosed)
	}
	cancel()
	taking.Wait()
}

// After a burst the middleware is not asked to call for each message, after some quiet it is again: nothing may fall
// between the two, and nobody may wait for a call that does not come.
func TestBurstsAndSingleMessages(t *testing.T) {
	const burst, quiet = 300, 20
	ctx := deadline(t)
	sender, receiver := openNode(t, "sender"), openNode(t, "receiver")
	_, err := receiver.Subscribe("/bursts", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	publisher, err := sender.CreatePublisher("/bursts", "std_msgs/msg/String", reliable(1000))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	sent := 0
	exchange := func(count int) {
		for i := range count {
			require.NoError(t, publisher.Publish(stringMessage(fmt.Sprint(sent+i))))
		}
		for _, m := range takeN(ctx, t, receiver, count) {
			require.Equal(t, fmt.Sprint(sent), m.text)
			sent++
		}
	}
	for range 4 {
		exchange(burst)
		exchange(1)
		for range quiet {
			receiver.Flush()
			batch, err := receiver.Take(ctx)
			require.NoError(t, err)
			require.Nil(t, batch)
		}
		for range 3 {
			exchange(1)
		}
	}
}

// The middleware can need seconds to make or end something on a node: messages are taken meanwhile.
func TestTakeWhileTheNodeIsBusy(t *testing.T) {
	ctx := deadline(t)
	sender, receiver := openNode(t, "sender"), openNode(t, "receiver")
	_, err := receiver.Subscribe("/busy", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	publisher, err := sender.CreatePublisher("/busy", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	receiver.mu.Lock() // as for as long as Subscribe, Unsubscribe and their like take
	defer receiver.mu.Unlock()
	require.NoError(t, publisher.Publish(stringMessage("meanwhile")))
	require.Equal(t, "meanwhile", takeN(ctx, t, receiver, 1)[0].text)
}

func TestTakeEndsWithItsContext(t *testing.T) {
	n := openNode(t, "idle")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := n.Take(ctx)
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// What has arrived when Flush is called comes out of Take, and nil when there is nothing.
func TestFlushMakesTakeReturn(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "flush")
	_, err := n.Subscribe("/flush", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	for range 3 {
		n.Flush()
		batch, err := n.Take(ctx)
		require.NoError(t, err)
		require.Nil(t, batch)
	}
	publisher, err := n.CreatePublisher("/flush", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	require.NoError(t, publisher.Publish(stringMessage("x")))
	require.Equal(t, "x", takeN(ctx, t, n, 1)[0].text)
}

func TestGraphChangesAreSeen(t *testing.T) {
	ctx := deadline(t)
	n, other := openNode(t, "watcher"), openNode(t, "changer")
	for {
		changed, err := n.Changed(ctx, 300*time.Millisecond)
		require.NoError(t, err)
		if !changed {
			break // quiet
		}
	}
	_, err := other.CreatePublisher("/new", "std_msgs/msg/String", reliable(10))
	require.NoError(t, err)
	changed, err := n.Changed(ctx, 30*time.Second)
	require.NoError(t, err)
	require.True(t, changed)
}

func TestEventTypesOfServicesCanBeRecorded(t *testing.T) {
	n := openNode(t, "events")
	_, err := n.Subscribe("/add/_service_event", "test_msgs/srv/BasicTypes_Event", reliable(10))
	require.NoError(t, err)
}

func TestClosedNodeRefusesEverything(t *testing.T) {
	n := openNode(t, "closed")
	publisher, err := n.CreatePublisher("/x", "std_msgs/msg/String", reliable(1))
	require.NoError(t, err)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
	_, err = n.Subscribe("/x", "std_msgs/msg/String", reliable(1))
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.Take(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.Topics()
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.Publishers("/x")
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.Changed(context.Background(), time.Second)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, publisher.Publish(stringMessage("x")), ErrClosed)
	require.NoError(t, publisher.Close())
}
