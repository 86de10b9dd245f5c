//go:build ros

package recorder

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"rosbagd/bag"
	"rosbagd/node"
	"rosbagd/storage/qos"
	"rosbagd/test/domain"
)

// stalled is a node whose messages are not taken while the gate is shut.
type stalled struct {
	*node.Node
	gate chan struct{} // has a token while it is open
}

func (s stalled) Take(ctx context.Context) (*node.Batch, error) {
	select {
	case <-s.gate:
		defer func() { s.gate <- struct{}{} }()
		return s.Node.Take(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// shut waits until nobody is inside Take, and keeps it so.
func (s stalled) shut() {
	for {
		select {
		case <-s.gate:
			return
		default:
			s.Flush()
		}
	}
}

func (s stalled) open() { s.gate <- struct{}{} }

// realNode is a node in a domain that no other test is in.
func realNode(t *testing.T, name string) *node.Node {
	t.Helper()
	n, err := node.Open(node.Options{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func ownDomain(t *testing.T) {
	t.Helper()
	id, release, err := domain.Take()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, release()) })
	t.Setenv("ROS_DOMAIN_ID", strconv.Itoa(id))
	t.Setenv("ROS_LOCALHOST_ONLY", "1")
	t.Setenv("ROS_LOG_DIR", t.TempDir())
}

// stringData is a serialized std_msgs/msg/String (CDR, little endian).
func stringData(text string) []byte {
	data := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, uint32(len(text)+1))
	return append(append(data, text...), 0)
}

// While nobody takes, the history of our subscription overflows: lost here, and nothing in transport.
func TestOverflowIsLostHere(t *testing.T) {
	for name, offered := range map[string][]qos.Reliability{
		"one class": {qos.Reliable}, "two classes": {qos.BestEffort, qos.Reliable},
	} {
		t.Run(name, func(t *testing.T) { testOverflow(t, offered) })
	}
}

func testOverflow(t *testing.T, offered []qos.Reliability) {
	const depth, sent = 10, 200
	ownDomain(t)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	sender := realNode(t, "sender")
	var publishers []*node.Publisher
	for _, reliability := range offered {
		profile := qos.Default()
		profile.Depth, profile.Reliability = sent, reliability
		publisher, err := sender.CreatePublisher("/flood", stringType, profile)
		require.NoError(t, err)
		publishers = append(publishers, publisher)
	}
	receiver := stalled{realNode(t, "receiver"), make(chan struct{}, 1)}
	override := qos.Default()
	override.Depth = depth
	options := Options{Filter: Filter{Topics: []string{"/flood"}}, MaxCacheSize: DefaultMaxCacheSize, Depth: depth}
	if len(offered) == 1 {
		options.QoSOverrides = map[string]qos.Profile{"/flood": override} // the depth of the publisher does not raise it
	}
	r := New(options, Environment{
		Graph: receiver.Node, Subscriber: receiver, Logger: zap.NewNop(), Bags: NewBags(bag.WriterOptions{StorageID: "mcap"}),
	})
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	receiver.open()
	go func() { done <- r.Run(running) }()
	directory := filepath.Join(t.TempDir(), "bag")
	require.Eventually(t, func() bool { return r.Record(directory) == nil }, time.Minute, time.Millisecond)

	last := publishers[len(publishers)-1]
	arrived := func() bool { return len(r.Stats()) == 1 && r.Stats()[0].Received > 0 }
	for !arrived() { // until both sides know of each other
		require.NoError(t, last.Publish(stringData("first")))
		_, err := sender.Changed(ctx, 10*time.Millisecond)
		require.NoError(t, err)
	}
	for _, publisher := range publishers {
		_, err := publisher.WaitAcked(time.Minute)
		require.NoError(t, err)
	}
	receiver.Flush()
	receiver.shut()
	before := r.Stats()[0]
	for i := range sent {
		require.NoError(t, last.Publish(stringData(fmt.Sprint(i))))
	}
	acked, err := last.WaitAcked(time.Minute)
	require.NoError(t, err)
	require.True(t, acked)
	receiver.open()
	require.Eventually(t, func() bool { return r.Stats()[0].Overflowed > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())
	stop()
	require.NoError(t, <-done)

	got := r.Result()
	require.Zero(t, got.Lost, "nothing was lost in transport")
	require.EqualValues(t, sent-depth, got.Overflowed-before.Overflowed)
	require.EqualValues(t, sent, got.Written-before.Received+got.Overflowed-before.Overflowed, "sent is written and overflowed")
	require.True(t, got.LostHere())
}
