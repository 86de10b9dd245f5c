package recorder

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/node"
)

// Any sequence of commands leaves the cache in agreement with a plain model of it, and each batch is released once.
func TestCacheAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 3000).Draw(t, "limit")
		released := map[int]int{}
		var dropped []*node.Batch
		c := newCache(limit, func(b *node.Batch) {
			require.NotNil(t, b.Messages, "dropped batches are counted before they are released")
			dropped = append(dropped, b)
		})
		type queued struct {
			id    int
			batch *node.Batch
			cost  int64
		}
		var queue, out []queued
		var held int64
		next, closed, ran, ordered := 0, false, 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				id := next
				next++
				n := rapid.IntRange(1, 5).Draw(t, "messages")
				b := node.NewBatch(make([]node.Message, n), rapid.Int64Range(0, 500).Draw(t, "bytes"), func() { released[id]++ })
				size, before := cost(b), len(dropped)
				if wanted := !closed && held < limit; wanted {
					require.True(t, c.push(b))
					queue = append(queue, queued{id, b, size})
					held += size
				} else {
					require.False(t, c.push(b))
					require.Len(t, dropped, before+1)
					require.Equal(t, 1, released[id])
				}
			},
			"order": func(t *rapid.T) {
				require.Equal(t, !closed, c.order(func() { ran++ }))
				if !closed {
					queue = append(queue, queued{id: -1})
					ordered++
				}
			},
			"pop": func(t *rapid.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				it, err := c.pop(ctx)
				if len(queue) == 0 {
					require.Error(t, err)
					require.Equal(t, closed, errors.Is(err, errDrained))
					return
				}
				require.NoError(t, err)
				require.Same(t, queue[0].batch, it.batch)
				if it.batch == nil {
					it.order()
				} else {
					out = append(out, queue[0])
				}
				queue = queue[1:]
			},
			"done": func(t *rapid.T) {
				if len(out) == 0 {
					return
				}
				c.done(out[0].batch)
				require.Equal(t, 1, released[out[0].id])
				held -= out[0].cost
				out = out[1:]
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "dice") == 0 {
					c.close()
					closed = true
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, held, c.bytes)
				for id, n := range released {
					require.Equal(t, 1, n, "batch %d", id)
				}
				waiting := 0
				for _, q := range queue {
					if q.id < 0 {
						waiting++
					}
				}
				require.Equal(t, ordered, ran+waiting)
			},
		})
	})
}

func TestCacheOfSizeZeroTakesBatches(t *testing.T) {
	c := newCache(0, func(*node.Batch) { require.Fail(t, "dropped") })
	require.True(t, c.push(node.NewBatch(make([]node.Message, 1), 500<<10, nil)))
	require.True(t, c.push(node.NewBatch(make([]node.Message, 1), 500<<10, nil)))
}

func TestPopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(1000, func(*node.Batch) {})
		got := make(chan error, 1)
		pop := func(ctx context.Context) { _, err := c.pop(ctx); got <- err }

		go pop(t.Context())
		synctest.Wait()
		require.Empty(t, got, "waits while empty")
		require.True(t, c.push(node.NewBatch(make([]node.Message, 1), 1, nil)))
		require.NoError(t, <-got)

		ctx, cancel := context.WithCancel(t.Context())
		go pop(ctx)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-got, context.Canceled)

		go pop(t.Context())
		synctest.Wait()
		c.close()
		require.ErrorIs(t, <-got, errDrained)
	})
}

func BenchmarkCache(b *testing.B) {
	c := newCache(1<<30, func(*node.Batch) {})
	batch := node.NewBatch(make([]node.Message, 100), 10000, nil)
	messages := batch.Messages
	b.ReportAllocs()
	for range b.N {
		batch.Messages = messages
		c.push(batch)
		it, err := c.pop(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		it.batch.Messages = messages
		c.done(it.batch)
	}
}
