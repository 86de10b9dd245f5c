package recorder

import (
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

func TestClockMessages(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want int64
		ok   bool
	}{
		"little endian":   {[]byte{0, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 2_000_000_003, true},
		"big endian":      {[]byte{0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3}, 2_000_000_003, true},
		"before the time": {[]byte{0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, -1_000_000_000, true},
		"cut off":         {[]byte{0, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0}, 0, false},
		"another format":  {[]byte{0, 7, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 0, false},
		"nothing":         {nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := clockNanos(c.data)
			require.Equal(t, c.want, got)
			require.Equal(t, c.ok, ok)
		})
	}
}

// clockMessage is a /clock of so many seconds that was received at an instant.
func clockMessage(id node.SubscriptionID, receivedMillis int64, seconds uint32) node.Message {
	data := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, seconds)
	return node.Message{
		Subscription: id, GID: node.GID{99}, Sequence: uint64(receivedMillis), Data: binary.LittleEndian.AppendUint32(data, 0),
		ReceivedNanos: receivedMillis * int64(time.Millisecond),
	}
}

// Without a /clock nothing is looked for, so that nothing can be said of topics.
func TestNoSimTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{Topics: []string{"/a"}}, UseSimTime: true})
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		pass(time.Minute)
		require.NoError(t, h.shutdown())
		require.Equal(t, 1, h.logged("nothing was recorded: no time of a simulation came on /clock"))
		require.Zero(t, h.logged("was never seen"))
	})
}

// The time of /clock is recorded, message by message; nothing is subscribed before there is one.
func TestSimTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, UseSimTime: true})
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		require.Equal(t, 1, h.logged("waiting for /clock"))
		pass(time.Minute)
		require.Equal(t, 1, h.sub.count())
		require.Equal(t, clockTopic, h.sub.made[0].topic)
		require.Equal(t, qos.BestEffort, h.sub.made[0].profile.Reliability)
		clock := h.sub.ids(clockTopic)[0]

		h.sub.give(clockMessage(clock, 1, 0))
		require.Equal(t, 1, h.sub.count(), "a simulation that has not begun")
		h.sub.give(clockMessage(clock, 10, 100))
		synctest.Wait()
		require.Equal(t, 1, h.logged("Sim time /clock found"))
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 5)) // arrived before
		h.sub.give(
			message(id, 1, 15), message(id, 1, 19), clockMessage(clock, 20, 101), message(id, 1, 25),
			clockMessage(clock, 30, 3), message(id, 1, 35))
		h.sub.give(message(id, 1, 29)) // taken late, but of before the jump
		require.NoError(t, h.Stop())

		const second = int64(time.Second)
		var got []int64
		for _, m := range h.bag().allMessages() {
			got = append(got, m.LogTimeNanos)
			require.NotEqual(t, m.LogTimeNanos, m.PublishTimeNanos, "what was sent when stays as it is")
		}
		require.Equal(t, []int64{100 * second, 100 * second, 101 * second, 3 * second, 101 * second}, got)

		require.NoError(t, h.Record("next"))
		synctest.Wait()
		require.Equal(t, 1, h.logged("waiting for /clock"), "it is known already")
		h.sub.give(clockMessage(clock, 50, 7), message(h.sub.ids("/a")[0], 1, 55))
		require.NoError(t, h.shutdown())
		require.Equal(t, 7*second, h.bag().allMessages()[0].LogTimeNanos)
	})
}

func TestStopWhileWaitingForTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, UseSimTime: true, RecordAtStart: true, URI: "bag"})
		h.run()
		require.NoError(t, h.Stop())
		require.True(t, h.bag().isSealed())
		require.NoError(t, h.shutdown())
	})
}

func TestClockThatCanNotBeFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{UseSimTime: true})
		h.sub.fail[clockTopic] = errors.New("no such type")
		h.run()
		require.EqualError(t, <-h.done, "follow /clock: no such type")
	})
}
