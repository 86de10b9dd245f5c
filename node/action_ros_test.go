//go:build ros

package node

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

const fibonacci = "test_msgs/action/Fibonacci"

// The numbers of action_msgs/msg/GoalStatus that a result has.
const (
	succeeded = 4
	canceled  = 5
)

// goalRequest is a serialized goal request of test_msgs/action/Fibonacci; a result request is its first 20 bytes.
func goalRequest(goal byte, order int32) []byte {
	data := []byte{0, 1, 0, 0, goal, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	return binary.LittleEndian.AppendUint32(data, uint32(order))
}

// resultOf takes a serialized result apart.
func resultOf(t *testing.T, response []byte) (status byte, sequence []uint32) {
	t.Helper()
	require.GreaterOrEqual(t, len(response), 12)
	for at := 12; at < len(response); at += 4 {
		sequence = append(sequence, binary.LittleEndian.Uint32(response[at:]))
	}
	require.Len(t, sequence, int(response[8]))
	return response[4], sequence
}

func TestActionClientSendsRecordedGoals(t *testing.T) {
	ctx := deadline(t)
	server := startPeer(ctx, t)
	n := openNode(t, "goals")

	// What a goal service tells of the requests that it gets is what will be in a bag.
	reader, err := n.ServiceEventReader(fibonacci + "_SendGoal")
	require.NoError(t, err)
	recorded := createReady(ctx, t, n, "/recorded/_action/send_goal", fibonacci+"_SendGoal")
	subscribeEvents(ctx, t, n, "/recorded/_action/send_goal", fibonacci+"_SendGoal")
	record := func(request []byte) []byte {
		_, events := sendUntilEvents(ctx, t, n, reader, recorded, request, func() { server.hear(ctx, t) })
		require.Equal(t, request, events[0].Request)
		return events[0].Request
	}
	short, endless, refused := record(goalRequest(1, 5)), record(goalRequest(2, 1000)), record(goalRequest(3, -1))

	player := openNode(t, "player")
	action, err := player.CreateActionClient("/fibonacci", fibonacci)
	require.NoError(t, err)
	feedback, status, err := action.Subscribe()
	require.NoError(t, err)
	waitForServer(ctx, t, action)

	t.Run("accepted, with feedback and a result", func(t *testing.T) {
		accepted, err := action.SendGoal(ctx, short)
		require.NoError(t, err)
		require.True(t, accepted)
		require.Equal(t, "Fibonacci_Goal", server.hear(ctx, t).Type)
		response, err := action.Result(ctx, short[:20])
		require.NoError(t, err)
		got, sequence := resultOf(t, response)
		require.EqualValues(t, succeeded, got)
		require.Equal(t, []uint32{0, 1, 1, 2, 3, 5}, sequence)

		wanted, err := GoalOf(short)
		require.NoError(t, err)
		var feedbacks, states int
		for feedbacks < 4 || states == 0 {
			batch, err := player.Take(ctx)
			require.NoError(t, err)
			for _, m := range batch.Messages {
				switch m.Subscription {
				case feedback:
					goal, err := GoalOf(m.Data)
					require.NoError(t, err)
					require.Equal(t, wanted, goal)
					feedbacks++
				case status:
					states++
				}
			}
			batch.Release()
		}
	})

	t.Run("refused", func(t *testing.T) {
		accepted, err := action.SendGoal(ctx, refused)
		require.NoError(t, err)
		require.False(t, accepted)
		server.hear(ctx, t)
	})

	t.Run("canceled", func(t *testing.T) {
		accepted, err := action.SendGoal(ctx, endless)
		require.NoError(t, err)
		require.True(t, accepted)
		server.hear(ctx, t)
		cancel := append(endless[:20:20], make([]byte, 8)...) // the goal and no time
		response, err := action.Cancel(ctx, cancel)
		require.NoError(t, err)
		require.Zero(t, response[4], "return code")
		require.Equal(t, "/fibonacci/cancel", server.hear(ctx, t).Name)
		response, err = action.Result(ctx, endless[:20])
		require.NoError(t, err)
		got, _ := resultOf(t, response)
		require.EqualValues(t, canceled, got)
	})

	require.NoError(t, action.Close())
	_, err = action.SendGoal(ctx, short)
	require.ErrorIs(t, err, ErrClosed)
}

func waitForServer(ctx context.Context, t *testing.T, action *ActionClient) {
	t.Helper()
	for {
		ready, err := action.Ready()
		require.NoError(t, err)
		if ready {
			return
		}
		changed(ctx, t, action.node, 20*time.Millisecond)
	}
}

func TestActionClientsOfTypesThatAreNotThere(t *testing.T) {
	n := openNode(t, "actions")
	_, err := n.CreateActionClient("/ghost", "ghost_msgs/action/Ghost")
	require.ErrorIs(t, err, ErrNotInstalled)
	_, err = n.CreateActionClient("/ghost", "test_msgs/srv/Empty")
	require.ErrorContains(t, err, "is not an action")
	action, err := n.CreateActionClient("/nobody", fibonacci)
	require.NoError(t, err)
	ready, err := action.Ready()
	require.NoError(t, err)
	require.False(t, ready)
	_, err = action.SendGoal(deadline(t), []byte{0, 1, 0, 0, 1})
	require.ErrorContains(t, err, "bytes end before field")
	_, err = GoalOf([]byte{0, 1, 0, 0, 1})
	require.ErrorContains(t, err, "too few")
	require.NoError(t, n.Close())
	_, err = n.CreateClient("/nobody", "std_srvs/srv/Empty", qos.Default())
	require.ErrorIs(t, err, ErrClosed)
}
