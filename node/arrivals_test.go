package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestArrivals(t *testing.T) {
	const second = int64(1e9)
	type message struct {
		publisher byte
		number    uint64
		received  int64
	}
	for name, tc := range map[string]struct{ batches, want [][]message }{
		"topics that are taken one after the other": {
			[][]message{{{1, 1, 10}, {1, 2, 30}, {2, 1, 20}, {2, 2, 40}}},
			[][]message{{{1, 1, 10}, {2, 1, 20}, {1, 2, 30}, {2, 2, 40}}},
		},
		"repaired messages arrive late and are given first": {
			[][]message{{{1, 1, 30}, {1, 2, 31}, {1, 3, 10}, {2, 1, 20}}},
			[][]message{{{2, 1, 20}, {1, 1, 30}, {1, 2, 31}, {1, 3, 31}}},
		},
		"also over batches": {
			[][]message{{{1, 1, 30}}, {{1, 2, 10}, {2, 1, 20}}},
			[][]message{{{1, 1, 30}}, {{2, 1, 20}, {1, 2, 30}}},
		},
		"a clock that is set back stays back": {
			[][]message{{{1, 1, 100 * second}}, {{1, 2, 20 * second}, {1, 3, 21 * second}}},
			[][]message{{{1, 1, 100 * second}}, {{1, 2, 20 * second}, {1, 3, 21 * second}}},
		},
		"nothing": {[][]message{{}}, [][]message{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			var a arrivals
			for i, batch := range tc.batches {
				var messages []Message
				for _, m := range batch {
					messages = append(messages, Message{
						Subscription: SubscriptionID(m.publisher), GID: GID{m.publisher}, Sequence: m.number, ReceivedNanos: m.received,
					})
				}
				a.settle(messages)
				var got []message
				for _, m := range messages {
					got = append(got, message{m.GID[0], m.Sequence, m.ReceivedNanos})
				}
				require.Equal(t, tc.want[i], got)
			}
		})
	}
}

// Whatever the stamps, publishers keep their order and batches are sorted.
func TestArrivalsKeepTheOrderOfPublishers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a arrivals
		next, last := map[GID]uint64{}, map[GID]uint64{}
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			var messages []Message
			for range rapid.IntRange(0, 30).Draw(t, "messages") {
				gid := GID{rapid.Byte().Draw(t, "publisher") % 3}
				next[gid]++
				messages = append(messages, Message{
					GID: gid, Sequence: next[gid], ReceivedNanos: rapid.Int64Range(1, int64(repairTime)-1).Draw(t, "received"),
				})
			}
			a.settle(messages)
			for i, m := range messages {
				require.Equal(t, last[m.GID]+1, m.Sequence)
				last[m.GID] = m.Sequence
				if i > 0 {
					require.LessOrEqual(t, messages[i-1].ReceivedNanos, m.ReceivedNanos)
				}
			}
		}
	})
}
