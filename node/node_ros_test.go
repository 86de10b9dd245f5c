//go:build ros

package node

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"
	"go.uber.org/zap"

	"rosbagd/msgs"
	"rosbagd/msgs/gen"
	"rosbagd/storage/qos"
)

func TestROSArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":    {[]string{"-n", "x"}, "unknown ROS arguments: -n"},
		"unknown word":    {[]string{"hello"}, "unknown ROS arguments: hello"},
		"broken remap":    {[]string{"-r", "foo"}, "invalid ROS arguments"},
		"missing value":   {[]string{"--log-level"}, "invalid ROS arguments"},
		"known and other": {[]string{"-r", "__node:=x", "--frobnicate"}, "--frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(Options{Name: "args", ROSArgs: tc.args})
			var argument *ArgumentError
			require.ErrorAs(t, err, &argument)
			require.Contains(t, err.Error(), tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestRemappedNames(t *testing.T) {
	n := openNode(t, "old", "-r", "__node:=renamed", "-r", "__ns:=/robot", "-r", "chatter:=other")
	require.Equal(t, "/robot/renamed", n.Name())
	require.Equal(t, "/robot", n.Namespace())
	_, err := n.CreatePublisher("chatter", "std_msgs/msg/String", qos.Default())
	require.NoError(t, err)
	ctx := deadline(t)
	for {
		topics, err := n.Topics()
		require.NoError(t, err)
		if types, ok := topics["/robot/other"]; ok {
			require.Equal(t, []string{"std_msgs/msg/String"}, types)
			return
		}
		changed(ctx, t, n, 50*time.Millisecond)
	}
}

func TestGraphShowsOfferedQoSAndTypeHash(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "graph")
	offered := qos.Profile{
		History: qos.KeepLast, Depth: 3, Reliability: qos.Reliable, Durability: qos.TransientLocal,
		Deadline: 2 * time.Second, Lifespan: 1500 * time.Millisecond, Liveliness: qos.Automatic,
	}
	_, err := n.CreatePublisher("/offered", "std_msgs/msg/String", offered)
	require.NoError(t, err)
	for {
		endpoints, err := n.Publishers("/offered")
		require.NoError(t, err)
		if len(endpoints) == 0 {
			changed(ctx, t, n, 50*time.Millisecond)
			continue
		}
		require.Len(t, endpoints, 1)
		e := endpoints[0]
		require.Equal(t, "graph", e.NodeName)
		require.Equal(t, "/", e.NodeNamespace)
		require.Equal(t, "std_msgs/msg/String", e.Type)
		require.Equal(t, "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18", e.TypeHash)
		require.Equal(t, qos.Reliable, e.QoS.Reliability)
		require.Equal(t, qos.TransientLocal, e.QoS.Durability)
		require.Equal(t, 2*time.Second, e.QoS.Deadline)
		require.Equal(t, 1500*time.Millisecond, e.QoS.Lifespan)
		require.Equal(t, qos.Infinite, e.QoS.LivelinessLeaseDuration)
		return
	}
}

// A service is answered from another goroutine than the one that serves, and only the first answer counts.
func TestServicesAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(deadline(t))
	server, client := openNode(t, "server"), openNode(t, "client")
	require.NoError(t, server.Handle("~/seek", msgs.Seek(), func(request any, reply func(any)) {
		seek := request.(*msgs.SeekRequest)
		go func() {
			reply(&msgs.SuccessResponse{Success: seek.Time == msgs.Time{Sec: 7, Nanosec: 8}})
			reply(&msgs.SuccessResponse{})
		}()
	}))
	require.NoError(t, server.Handle("~/absent", msgs.Service{Name: "NotInThisDistro", NewRequest: func() any { return new(msgs.Empty) }}, nil))
	seek, err := client.ros.NewClient("/server/seek", gen.Services["Seek"], nil)
	require.NoError(t, err)
	served, called := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	go func() { called <- client.Run(ctx) }()

	request := gen.Services["Seek"].Request().New()
	copyFields(request, &msgs.SeekRequest{Time: msgs.Time{Sec: 7, Nanosec: 8}})
	response := callUntilAnswered(ctx, t, func(ctx context.Context) (types.Message, error) {
		response, _, err := seek.Send(ctx, request)
		return response, err
	})
	var got msgs.SuccessResponse
	copyFields(&got, response)
	require.True(t, got.Success)

	cancel()
	require.NoError(t, <-served)
	require.NoError(t, <-called)
}

// callUntilAnswered repeats a call that went out before the two sides had found each other.
func callUntilAnswered(ctx context.Context, t *testing.T, call func(context.Context) (types.Message, error)) types.Message {
	t.Helper()
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		response, err := call(attempt)
		cancel()
		if err == nil {
			return response
		}
	}
	t.Fatal("service never answered")
	return nil
}

func TestEventsArePublished(t *testing.T) {
	ctx := deadline(t)
	n := openNode(t, "events")
	_, err := n.Subscribe("/clock", "rosgraph_msgs/msg/Clock", reliable(10))
	require.NoError(t, err)
	events, err := n.CreateEventPublisher("/clock", "rosgraph_msgs/msg/Clock", reliable(10))
	require.NoError(t, err)
	for {
		endpoints, err := n.Subscriptions("/clock")
		require.NoError(t, err)
		if len(endpoints) > 0 {
			break
		}
		changed(ctx, t, n, 20*time.Millisecond)
	}
	require.NoError(t, events.Publish(msgs.Clock{Clock: msgs.Time{Sec: 1, Nanosec: 2}}))
	batch, err := n.Take(ctx)
	require.NoError(t, err)
	defer batch.Release()
	require.Equal(t, []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, batch.Messages[0].Data)
}

func TestContextsComeAndGo(t *testing.T) {
	for range 10 {
		n, err := Open(Options{Name: "cycle"})
		require.NoError(t, err)
		_, err = n.Subscribe("/x", "std_msgs/msg/String", reliable(10))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, n.Close())
	}
}

func TestLogIsOnRosout(t *testing.T) {
	ctx := deadline(t)
	n, reader := openNode(t, "talkative"), openNode(t, "reader")
	profile := qos.Profile{History: qos.KeepLast, Depth: 1000, Reliability: qos.Reliable, Durability: qos.TransientLocal}
	_, err := reader.Subscribe("/rosout", "rcl_interfaces/msg/Log", profile)
	require.NoError(t, err)
	n.Logger().Warn("something happened", zap.Int("count", 7), zap.String("topic", "/x"))
	for {
		batch, err := reader.Take(ctx)
		require.NoError(t, err)
		found := false
		for _, m := range batch.Messages {
			found = found || bytes.Contains(m.Data, []byte("something happened count=7 topic=/x"))
		}
		batch.Release()
		if found {
			return
		}
	}
}
