package recorder

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"rosbagd/storage"
)

func TestFullCacheDropsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, MaxCacheSize: 1})
		hold := make(chan struct{})
		h.prepare = func(b *fakeBag) { b.hold = hold }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 1))
		synctest.Wait() // it is being written, and still in memory
		h.sub.give(message(id, 1, 2), message(id, 1, 3))
		synctest.Wait()
		require.Equal(t, []TopicStats{{
			Topic: "/a", Type: stringType, Received: 3, Bytes: 3, Dropped: 2,
		}}, h.Stats())
		close(hold)
		synctest.Wait()
		h.sub.give(message(id, 1, 4))
		require.NoError(t, h.shutdown())

		require.Equal(t, []string{"1", "4"}, h.bag().payloads("/a"))
		require.Equal(t, Result{Bags: 1, Received: 4, Written: 2, Dropped: 2}, h.Result())
		require.True(t, h.Result().LostHere())
		require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=2 lost=0"}, h.bag().custom)
		require.Equal(t, 1, h.logged("topic is not complete"))
		require.Equal(t, h.Result().Written, h.Stats()[0].Written, "counts of the last bag stay")
	})
}

func TestGapsAreLostInTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 100), message(id, 1, 103), message(id, 2, 7))
		h.sub.give(message(id, 1, 102), message(id, 2, 8))
		require.NoError(t, h.shutdown())
		require.Equal(t, Result{Bags: 1, Received: 5, Written: 5, Lost: 1}, h.Result())
		require.False(t, h.Result().LostHere())
		require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=0 lost=1"}, h.bag().custom)
	})
}

func TestLossLogOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		id := h.sub.ids("/a")[0]
		for n := range uint64(20) {
			h.sub.give(message(id, 1, 1+2*n))
		}
		synctest.Wait()
		require.Zero(t, h.logged("messages were lost"))
		pass(lossLogInterval)
		require.Equal(t, 1, h.logged("messages were lost"))
		pass(10 * lossLogInterval)
		require.Equal(t, 1, h.logged("messages were lost"), "nothing new")
		require.NoError(t, h.shutdown())
	})
}

func TestStorageFailureEndsTheBagOnly(t *testing.T) {
	noSpace := errors.New("write bag_0.mcap: no space left on device")
	for name, c := range map[string]struct {
		during func(*harness)
		result Result
	}{
		"in a write": {
			func(h *harness) { h.bag().failNext(noSpace) },
			Result{Bags: 2, Failed: 1, Received: 4, Written: 2, Dropped: 2},
		},
		"while idle": {
			func(h *harness) { h.bag().runErr <- noSpace },
			Result{Bags: 2, Failed: 1, Received: 4, Written: 2, Dropped: 2},
		},
		"with what was not on the disk yet": {
			func(h *harness) { h.bag().torn = 1; h.bag().runErr <- noSpace },
			Result{Bags: 2, Failed: 1, Received: 4, Written: 1, Dropped: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := recordA(t, Options{})
				id := h.sub.ids("/a")[0]
				h.sub.give(message(id, 1, 1))
				synctest.Wait()
				c.during(h)
				synctest.Wait()
				h.sub.give(message(id, 1, 2))
				h.sub.give(message(id, 1, 3))
				synctest.Wait()
				require.True(t, h.IsRecording())
				h.Pause()
				require.True(t, h.IsPaused(), "commands still work")
				require.ErrorIs(t, h.Split(), noSpace)
				require.ErrorIs(t, h.Stop(), noSpace)
				require.True(t, h.bag().isSealed())
				require.Equal(t, 1, h.logged("bag has failed"))
				require.Equal(t, fmt.Sprintf("dropped=%d lost=0", c.result.Dropped), h.bag().custom["rosbagd.lost./a"])

				require.NoError(t, h.Record("next"))
				synctest.Wait()
				h.sub.give(message(h.sub.ids("/a")[0], 1, 4))
				require.NoError(t, h.shutdown())
				require.Equal(t, []string{"4"}, h.bag().payloads("/a"))
				require.Equal(t, c.result, h.Result())
			})
		})
	}
}

func TestStorageFailureEndsTheVerb(t *testing.T) {
	noSpace := errors.New("no space left on device")
	for name, fail := range map[string]func(*harness){
		"in a write": func(h *harness) {
			h.bag().failNext(noSpace)
			h.sub.give(message(h.sub.ids("/a")[0], 1, 1))
		},
		"while idle": func(h *harness) { h.bag().runErr <- noSpace },
		"at the end": func(h *harness) {
			h.bag().failNext(noSpace)
			h.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Options{
					Filter: Filter{AllTopics: true}, RecordAtStart: true, EndOnFailure: true, URI: "bag",
				})
				h.graph.set("/a", stringType, volatilePublisher(1))
				h.run()
				fail(h)
				err := <-h.done
				require.ErrorIs(t, err, noSpace)
				require.ErrorContains(t, err, "write bag bag")
				require.Equal(t, 1, h.Result().Failed)
				require.Equal(t, 1, h.logged("bag has failed"))
			})
		})
	}
}

func TestRejectedMessageCostsOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		id := h.sub.ids("/a")[0]
		h.bag().failNext(&storage.RejectedError{Indexes: []int{1}, Err: errors.New("too large")})
		h.sub.give(message(id, 1, 1), message(id, 1, 2), message(id, 1, 3))
		h.sub.give(message(id, 1, 4))
		require.NoError(t, h.shutdown())
		require.Equal(t, []string{"1", "3", "4"}, h.bag().payloads("/a"))
		require.Equal(t, Result{Bags: 1, Received: 4, Written: 3, Dropped: 1}, h.Result())
		require.Equal(t, 1, h.logged("message can not be written"))
	})
}

func TestTopicThatTheBagRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
		h.prepare = func(b *fakeBag) { b.refuse = "/a" }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.graph.set("/b", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		h.sub.give(message(h.sub.ids("/a")[0], 1, 1), message(h.sub.ids("/b")[0], 1, 2))
		require.NoError(t, h.shutdown())
		require.Equal(t, []string{"2"}, h.bag().payloads("/b"))
		require.Equal(t, Result{Bags: 1, Received: 2, Written: 1, Dropped: 1}, h.Result())
		require.Equal(t, 1, h.logged("topic is not recorded"))
	})
}

func TestLateMessageIsNoLoss(t *testing.T) {
	var r lossReporter
	core, logs := observer.New(zap.WarnLevel)
	for _, lost := range []uint64{3, 1, 2} {
		r.look(zap.New(core), []TopicStats{{Lost: lost}})
	}
	var lines []any
	for _, entry := range logs.All() {
		lines = append(lines, entry.ContextMap()["lost"])
	}
	require.Equal(t, []any{uint64(3), uint64(1)}, lines)
}

// A writer that hangs is counted while it hangs, and goes on afterwards; sent is written and dropped.
func TestWriterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, MaxCacheSize: 2000})
		hold := make(chan struct{})
		h.prepare = func(b *fakeBag) { b.hold = hold }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		id := h.sub.ids("/a")[0]
		for n := range uint64(30) {
			h.sub.give(message(id, 1, n))
			pass(time.Second)
		}
		dropped := h.Stats()[0].Dropped
		require.NotZero(t, dropped)
		close(hold)
		synctest.Wait()
		for n := range uint64(10) {
			h.sub.give(message(id, 1, 30+n))
			synctest.Wait()
		}
		require.NoError(t, h.shutdown())
		result := h.Result()
		require.Equal(t, dropped, result.Dropped, "nothing is dropped once it goes on")
		require.EqualValues(t, 40, result.Written+result.Dropped)
		require.Len(t, h.bag().allMessages(), int(result.Written))
	})
}
