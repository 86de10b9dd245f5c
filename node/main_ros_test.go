//go:build ros

package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/test/domain"
)

func TestMain(m *testing.M) {
	id, _, err := domain.Take() // until the process ends
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for key, value := range map[string]string{
		"ROS_LOCALHOST_ONLY": "1", "ROS_DOMAIN_ID": strconv.Itoa(id), "ROS_LOG_DIR": os.TempDir(),
	} {
		if err := os.Setenv(key, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

func openNode(t testing.TB, name string, rosArgs ...string) *Node {
	t.Helper()
	n, err := Open(Options{Name: name, ROSArgs: rosArgs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// deadline bounds the waiting of a test; it is no expectation about time.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// stringMessage is a serialized std_msgs/msg/String (CDR, little endian).
func stringMessage(text string) []byte {
	data := []byte{0, 1, 0, 0}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(text)+1))
	return append(append(data, text...), 0)
}

// changed waits a little for the graph.
func changed(ctx context.Context, t testing.TB, n *Node, timeout time.Duration) {
	t.Helper()
	_, err := n.Changed(ctx, timeout)
	require.NoError(t, err)
}

func waitMatched(ctx context.Context, t testing.TB, p *Publisher, want int) {
	t.Helper()
	for {
		got, err := p.Subscriptions()
		require.NoError(t, err)
		if got >= want {
			return
		}
		changed(ctx, t, p.node, 10*time.Millisecond)
	}
}

// received is a message outside its batch.
type received struct {
	text     string
	sub      SubscriptionID
	sequence uint64
	gid      GID
	sorted   int64
	source   int64
}

// takeN takes until it has n messages.
func takeN(ctx context.Context, t testing.TB, node *Node, n int) []received {
	t.Helper()
	var all []received
	for len(all) < n {
		batch, err := node.Take(ctx)
		require.NoError(t, err, "after %d of %d messages", len(all), n)
		all = append(all, messagesOf(batch)...)
		batch.Release()
	}
	return all
}

// messagesOf copies the messages of a batch, whose payloads are strings.
func messagesOf(batch *Batch) []received {
	var all []received
	for _, m := range batch.Messages {
		all = append(all, received{
			text: string(m.Data[8 : len(m.Data)-1]), sub: m.Subscription, sequence: m.Sequence, gid: m.GID,
			sorted: m.ReceivedNanos, source: m.SourceNanos,
		})
	}
	return all
}
