//go:build ros

package node

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// takeEvents takes messages of one subscription as the events of a service until it has n.
func takeEvents(ctx context.Context, t *testing.T, node *Node, reader *ServiceEventReader, n int) []ServiceEvent {
	t.Helper()
	var events []ServiceEvent
	for len(events) < n {
		batch, err := node.Take(ctx)
		require.NoError(t, err, "after %d of %d events", len(events), n)
		for _, m := range batch.Messages {
			event, err := reader.Read(m.Data)
			require.NoError(t, err)
			events = append(events, event)
		}
		batch.Release()
	}
	return events
}

// subscribeEvents subscribes to the events of a service and waits for the match.
func subscribeEvents(ctx context.Context, t *testing.T, n *Node, service, typ string) {
	t.Helper()
	topic := service + "/_service_event"
	for {
		publishers, err := n.Publishers(topic)
		require.NoError(t, err)
		if len(publishers) > 0 {
			break
		}
		changed(ctx, t, n, 20*time.Millisecond)
	}
	_, err := n.Subscribe(topic, typ+"_Event", reliable(100))
	require.NoError(t, err)
}

// sendUntilEvents sends a request until both events of one sending come: the publisher of the events may not know of the
// subscription at first, and what it tells before is not there to read. heard is called after each request.
func sendUntilEvents(
	ctx context.Context, t *testing.T, n *Node, reader *ServiceEventReader, client *Client, request []byte, heard func(),
) (sequence int64, events []ServiceEvent) {
	t.Helper()
	for {
		sequence, err := client.Send(request)
		require.NoError(t, err)
		heard()
		if events := eventsOf(ctx, t, n, reader, sequence); len(events) == 2 {
			return sequence, events
		}
		require.NoError(t, ctx.Err())
	}
}

// eventsOf takes the two events of one sending, or as many as come in a while.
func eventsOf(ctx context.Context, t *testing.T, n *Node, reader *ServiceEventReader, sequence int64) (events []ServiceEvent) {
	t.Helper()
	attempt, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	for len(events) < 2 {
		batch, err := n.Take(attempt)
		if err != nil {
			return events
		}
		for _, m := range batch.Messages {
			event, err := reader.Read(m.Data)
			require.NoError(t, err)
			if event.Sequence == sequence {
				events = append(events, event)
			}
		}
		batch.Release()
	}
	return events
}

func TestRequestsOfServiceEvents(t *testing.T) {
	ctx := deadline(t)
	server := startPeer(ctx, t)
	const typ = "test_msgs/srv/BasicTypes"

	t.Run("the request of an event is the request", func(t *testing.T) {
		n := openNode(t, "events")
		reader, err := n.ServiceEventReader(typ)
		require.NoError(t, err)
		echo := createReady(ctx, t, n, "/echo", typ)
		subscribeEvents(ctx, t, n, "/echo", typ)
		request := basicTypes(7, "recorded")

		before := time.Now().UnixNano()
		sequence, events := sendUntilEvents(ctx, t, n, reader, echo, request, func() {
			require.Equal(t, request, server.hearRequest(ctx, t, typ+"_Request"))
		})
		received, sent := events[0], events[1]
		require.Equal(t, RequestReceived, received.Kind)
		require.Equal(t, sequence, received.Sequence)
		require.LessOrEqual(t, before, received.StampNanos)
		require.LessOrEqual(t, received.StampNanos, time.Now().UnixNano())
		require.NotZero(t, received.ClientGID)
		require.Equal(t, request, received.Request)
		require.Equal(t, ResponseSent, sent.Kind)
		require.Equal(t, sequence, sent.Sequence)
		require.Equal(t, received.ClientGID, sent.ClientGID)
		require.Nil(t, sent.Request)

		// Sent again as it was recorded, the server gets the same request.
		again, err := echo.Call(ctx, received.Request)
		require.NoError(t, err)
		require.Equal(t, request, again)
		require.Equal(t, request, server.hearRequest(ctx, t, typ+"_Request"))
		events = takeEvents(ctx, t, n, reader, 2)
		require.Equal(t, request, events[0].Request)
		require.Equal(t, sequence+1, events[0].Sequence)
	})

	t.Run("an event without contents has no request", func(t *testing.T) {
		n := openNode(t, "metadata")
		reader, err := n.ServiceEventReader(typ)
		require.NoError(t, err)
		client := createReady(ctx, t, n, "/metadata", typ)
		subscribeEvents(ctx, t, n, "/metadata", typ)
		_, events := sendUntilEvents(ctx, t, n, reader, client, basicTypes(1, "secret"), func() { server.hear(ctx, t) })
		require.Equal(t, RequestReceived, events[0].Kind)
		require.Nil(t, events[0].Request)
	})
}

func TestBadServiceEvents(t *testing.T) {
	n := openNode(t, "bad")
	reader, err := n.ServiceEventReader("test_msgs/srv/BasicTypes")
	require.NoError(t, err)
	empty := defaults(t, loadTyped(t, "test_msgs/srv/BasicTypes_Event"))
	event, err := reader.Read(empty)
	require.NoError(t, err)
	require.Equal(t, ServiceEvent{}, event)

	unknown := append([]byte(nil), empty...)
	unknown[4] = 9
	_, err = reader.Read(unknown)
	require.EqualError(t, err, "read test_msgs/srv/BasicTypes_Event: there is no event type 9")
	_, err = reader.Read(le(empty[:len(empty)-8], math.MaxUint32))
	require.ErrorContains(t, err, "bytes end before field")
	_, err = reader.Read(nil)
	require.ErrorContains(t, err, "no bytes")

	_, err = n.ServiceEventReader("ghost_msgs/srv/Ghost")
	require.ErrorIs(t, err, ErrNotInstalled)
	_, err = n.ServiceEventReader("std_msgs/msg/String")
	require.ErrorContains(t, err, "not a service")
}
