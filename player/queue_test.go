package player

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestQueueKeepsOrderWhileItMoves(t *testing.T) {
	q := newQueue(1<<20, func() {})
	q.turn(passage{})
	pushed, popped := 0, 0
	for _, n := range []struct{ in, out int }{{3000, 1500}, {2000, 3499}, {10, 11}, {5, 0}, {0, 5}} {
		for range n.in {
			require.True(t, q.push(t.Context(), 1, item{data: []byte(fmt.Sprint(pushed))}))
			pushed++
		}
		for range n.out {
			head, epoch, supply := q.head()
			require.Equal(t, ready, supply)
			require.Equal(t, fmt.Sprint(popped), string(head.data))
			require.True(t, q.pop(epoch))
			popped++
		}
	}
	require.Equal(t, pushed, popped)
	_, _, supply := q.head()
	require.Equal(t, reading, supply)
	require.Zero(t, q.bytes)
	require.False(t, q.pop(1), "nothing to take")
}

func TestQueueDropsWhatBelongsToAnotherPassage(t *testing.T) {
	q := newQueue(1<<20, func() {})
	q.turn(passage{})
	require.True(t, q.push(t.Context(), 1, item{data: []byte("old")}))
	_, old, _ := q.head()
	q.turn(passage{})
	require.Zero(t, q.bytes)
	require.False(t, q.pop(old))
	require.False(t, q.push(t.Context(), 1, item{data: []byte("older still")}))
	q.end(1, errTest)
	_, _, supply := q.head()
	require.Equal(t, reading, supply, "the end of the old passage is not the end of the new one")
	q.end(2, nil)
	_, _, supply = q.head()
	require.Equal(t, ended, supply)
	require.NoError(t, q.failure())
}

func TestQueueWakesThePlayerOnce(t *testing.T) {
	woken := 0
	q := newQueue(1<<20, func() { woken++ })
	q.turn(passage{})
	q.push(t.Context(), 1, item{})
	require.Zero(t, woken, "nobody waits")
	q.pop(1)
	q.head()
	q.push(t.Context(), 1, item{})
	q.push(t.Context(), 1, item{})
	require.Equal(t, 1, woken)
	q.pop(1)
	q.pop(1)
	q.head()
	q.end(1, nil)
	require.Equal(t, 2, woken)
}

func TestQueuePushCanBeLeft(t *testing.T) {
	for name, leave := range map[string]func(q *queue, cancel func()){
		"context":         func(_ *queue, cancel func()) { cancel() },
		"another passage": func(q *queue, _ func()) { q.turn(passage{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q := newQueue(10, func() {})
				q.turn(passage{})
				require.True(t, q.push(ctx, 1, item{data: make([]byte, 1000)}), "one passes whatever its size")
				pushed := make(chan bool, 1)
				go func() { pushed <- q.push(ctx, 1, item{}) }()
				synctest.Wait()
				require.Empty(t, pushed)
				leave(q, cancel)
				require.False(t, <-pushed)
			})
		})
	}
}
