//go:build ros

package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

// basicTypes is a serialized request of test_msgs/srv/BasicTypes; its response has the same fields.
func basicTypes(number int64, text string) []byte {
	data := []byte{0, 1, 0, 0}
	data = append(data, 1, 2, 3, 0)                                        // bool, byte, char, padding
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(1.5))   // float32
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(-2.25)) // float64
	data = append(data, 4, 5, 6, 0, 7, 0, 0, 0)                            // int8, uint8, int16, uint16, padding
	data = binary.LittleEndian.AppendUint32(data, 8)                       // int32
	data = binary.LittleEndian.AppendUint32(data, 9)                       // uint32
	data = binary.LittleEndian.AppendUint64(data, uint64(number))          // int64
	data = binary.LittleEndian.AppendUint64(data, math.MaxUint64)          // uint64
	data = binary.LittleEndian.AppendUint32(data, uint32(len(text)+1))     // string
	return append(append(data, text...), 0)
}

// createReady makes a client and waits for its server.
func createReady(ctx context.Context, t *testing.T, n *Node, name, typ string) *Client {
	t.Helper()
	client, err := n.CreateClient(name, typ, qos.Default())
	require.NoError(t, err)
	for {
		ready, err := client.Ready()
		require.NoError(t, err)
		if ready {
			return client
		}
		changed(ctx, t, n, 20*time.Millisecond)
	}
}

func TestClientsCallServicesOfAnyType(t *testing.T) {
	ctx := deadline(t)
	server := startPeer(ctx, t)
	n := openNode(t, "caller")

	t.Run("bytes go there and back", func(t *testing.T) {
		echo := createReady(ctx, t, n, "/echo", "test_msgs/srv/BasicTypes")
		for i := range 20 {
			request := basicTypes(int64(i), fmt.Sprint("text ", i))
			response, err := echo.Call(ctx, request)
			require.NoError(t, err)
			require.Equal(t, request, response)
			require.Equal(t, request, server.hearRequest(ctx, t, "test_msgs/srv/BasicTypes_Request"))
		}
		require.NoError(t, echo.Close())
	})

	t.Run("an empty request", func(t *testing.T) {
		empty := createReady(ctx, t, n, "/empty", "test_msgs/srv/Empty")
		response, err := empty.Call(ctx, []byte{0, 1, 0, 0, 0})
		require.NoError(t, err)
		require.Equal(t, []byte{0, 1, 0, 0, 0}, response)
		server.hear(ctx, t)
		require.NoError(t, empty.Close())
	})

	t.Run("several calls under way", func(t *testing.T) {
		pair := createReady(ctx, t, n, "/pair", "test_msgs/srv/BasicTypes")
		var calls sync.WaitGroup
		for i := range 2 {
			calls.Go(func() {
				request := basicTypes(int64(i), "pair")
				response, err := pair.Call(ctx, request)
				if err != nil || !bytes.Equal(request, response) {
					t.Errorf("call %d: %v, response %x", i, err, response)
				}
			})
		}
		calls.Wait()
		server.hear(ctx, t)
		server.hear(ctx, t)
		require.NoError(t, pair.Close())
	})

	t.Run("answers of Send are dropped", func(t *testing.T) {
		echo := createReady(ctx, t, n, "/echo", "test_msgs/srv/BasicTypes")
		before := int64(0)
		for i := range 30 {
			sequence, err := echo.Send(basicTypes(int64(i), "sent"))
			require.NoError(t, err)
			require.Greater(t, sequence, before)
			before = sequence
			server.hear(ctx, t) // one at a time: the server keeps ten at most
		}
		request := basicTypes(99, "called")
		response, err := echo.Call(ctx, request)
		require.NoError(t, err)
		require.Equal(t, request, response)
		server.hear(ctx, t)
		require.NoError(t, echo.Close())
	})

	t.Run("a call ends with its context, a client with its calls", func(t *testing.T) {
		silent := createReady(ctx, t, n, "/silent", "test_msgs/srv/BasicTypes")
		short, cancel := context.WithCancel(ctx)
		ended := make(chan error, 3)
		for _, ctx := range []context.Context{short, ctx, ctx} {
			go func() {
				_, err := silent.Call(ctx, basicTypes(0, "silent"))
				ended <- err
			}()
			server.hear(ctx, t)
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.NoError(t, silent.Close())
		require.ErrorIs(t, <-ended, ErrClosed)
		require.ErrorIs(t, <-ended, ErrClosed)
		_, err := silent.Call(ctx, basicTypes(0, "silent"))
		require.ErrorIs(t, err, ErrClosed)
		_, err = silent.Ready()
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, silent.Close())
	})
}

func TestClientsOfTypesThatAreNotThere(t *testing.T) {
	n := openNode(t, "clients")
	for _, typ := range []string{"ghost_msgs/srv/Ghost", "std_srvs/srv/Ghost", "std_srvs/action/Ghost_SendGoal"} {
		_, err := n.CreateClient("/ghost", typ, qos.Default())
		require.ErrorIs(t, err, ErrNotInstalled, typ)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := n.CreateClient("/ghost", "std_msgs/msg/String", qos.Default())
	require.ErrorContains(t, err, "not a service")
	_, err = n.CreateClient("/ghost", "../../etc/passwd", qos.Default())
	require.ErrorContains(t, err, "not of the form")
	_, err = n.CreateClient("not a name", "std_srvs/srv/Empty", qos.Default())
	require.ErrorContains(t, err, "create client of not a name")
}

// A client that nobody serves is not ready, and refuses bytes that are no request without a crash.
func TestClientsRefuseBadRequests(t *testing.T) {
	n := openNode(t, "clients")
	client, err := n.CreateClient("/nobody", "test_msgs/srv/BasicTypes", qos.Default())
	require.NoError(t, err)
	ready, err := client.Ready()
	require.NoError(t, err)
	require.False(t, ready)
	good := basicTypes(1, "text")
	long := append([]byte(nil), good...)
	binary.LittleEndian.PutUint32(long[len(long)-9:], math.MaxUint32) // the length of the string
	for name, data := range map[string][]byte{
		"nothing": nil, "no header": {0, 1}, "header only": good[:4], "cut": good[:20], "cut in the string": good[:len(good)-3],
		"a string longer than memory": long,
	} {
		_, err := client.Send(data)
		require.ErrorContains(t, err, "call /nobody: read test_msgs/srv/BasicTypes_Request: ", name)
		require.False(t, strings.ContainsRune(err.Error(), '\n'), name)
	}
	require.NoError(t, n.Close())
	_, err = client.Send(good)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, client.Close())
}
