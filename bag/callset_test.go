package bag

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCallSetCountsEachCallOnce holds it against a plain set.
func TestCallSetCountsEachCallOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const limit = 1000
		set := newCallSet(&callLimit{left: limit})
		plain := map[clientID]map[int64]bool{}
		for range rapid.IntRange(0, 300).Draw(r, "calls") {
			client := clientID{byte(rapid.IntRange(0, 2).Draw(r, "client"))}
			number := rapid.Int64Range(-20, 20).Draw(r, "number")
			set.add(client, number)
			if plain[client] == nil {
				plain[client] = map[int64]bool{}
			}
			plain[client][number] = true
		}
		total, runs := 0, 0
		for client, numbers := range plain {
			total += len(numbers)
			runs += len(set.clients[client])
			for _, run := range set.clients[client] {
				require.False(r, plain[client][run.first-1])
				require.False(r, plain[client][run.last+1])
			}
		}
		require.EqualValues(r, total, set.count)
		require.Equal(r, limit-runs, set.limit.left)
		require.False(r, set.limit.exceeded)
	})
}

// TestCallSetIsBounded: calls beyond the limit are not counted, those that need no memory are.
func TestCallSetIsBounded(t *testing.T) {
	set := newCallSet(&callLimit{left: 2})
	set.add(clientID{1}, 5)
	set.add(clientID{2}, 5)
	require.False(t, set.limit.exceeded)
	set.add(clientID{3}, 5)
	require.True(t, set.limit.exceeded)
	set.add(clientID{1}, 6)
	require.EqualValues(t, 3, set.count)
	require.Len(t, set.clients, 2)
}

func TestLossIsReadAsItWasWritten(t *testing.T) {
	for _, loss := range []Loss{
		{Topic: "/a", Dropped: 1, Overflowed: 2, Lost: 3},
		{Topic: "/b"},
		{Topic: "/c", OverflowedUnknown: true, LostUnknown: true},
		{Topic: "/d", Dropped: 4, OverflowedUnknown: true, Lost: 5},
	} {
		key, text := loss.Custom()
		require.Equal(t, []Loss{loss}, lossesOf(map[string]string{key: text, "other": "dropped=1 overflowed=1 lost=1"}))
	}
	require.Nil(t, lossesOf(map[string]string{"rosbagd.lost./a": "dropped=x overflowed=1 lost=1", "rosbagd.lost./b": "lost=1"}))
	require.Equal(t, "dropped=0 overflowed=unknown lost=7", func() string {
		_, text := Loss{OverflowedUnknown: true, Lost: 7}.Custom()
		return text
	}())
}
