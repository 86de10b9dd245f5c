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

	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
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
		require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=2 overflowed=0 lost=0"}, h.bag().custom)
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
		require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=0 overflowed=0 lost=1"}, h.bag().custom)
	})
}

// Gaps are what was lost. What the middleware tells explains a part of them, and adds nothing.
func TestLossesOfOneSubscription(t *testing.T) {
	type batch struct {
		told    uint64
		numbers []uint64
	}
	for name, tc := range map[string]struct {
		batches          []batch
		overflowed, lost uint64
	}{
		"told with the gap":             {[]batch{{0, []uint64{1}}, {3, []uint64{5}}}, 0, 3},
		"told before the gap":           {[]batch{{0, []uint64{1}}, {3, nil}, {0, []uint64{5}}}, 0, 3},
		"told after the gap":            {[]batch{{0, []uint64{1, 5}}, {3, nil}}, 0, 3},
		"told in parts":                 {[]batch{{0, []uint64{1}}, {1, []uint64{5}}, {2, nil}}, 0, 3},
		"nothing told":                  {[]batch{{0, []uint64{1, 5}}}, 3, 0},
		"a part told":                   {[]batch{{0, []uint64{1}}, {2, []uint64{5, 9}}}, 4, 2},
		"told without a gap":            {[]batch{{7, []uint64{1, 2}}}, 0, 0},
		"more told than missing":        {[]batch{{7, []uint64{1, 5}}}, 0, 3},
		"late joiner":                   {[]batch{{0, []uint64{100, 101}}}, 0, 0},
		"late joiner, then an overflow": {[]batch{{0, []uint64{100, 103}}}, 2, 0},
		"repaired":                      {[]batch{{0, []uint64{1, 5}}, {0, []uint64{2, 3, 4}}}, 0, 0},
		"repaired in part":              {[]batch{{1, []uint64{1, 5}}, {0, []uint64{3}}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := recordA(t, Options{})
				id := h.sub.ids("/a")[0]
				count := uint64(0)
				for _, b := range tc.batches {
					var messages []node.Message
					for _, n := range b.numbers {
						messages = append(messages, message(id, 1, n))
						count++
					}
					var losses []node.Loss
					if b.told > 0 {
						losses = []node.Loss{{Subscription: id, Count: b.told}, {Subscription: 999, Count: 5}}
					}
					h.sub.tell(losses, messages...)
				}
				require.NoError(t, h.shutdown())
				want := Result{Bags: 1, Received: count, Written: count, Overflowed: tc.overflowed, Lost: tc.lost}
				require.Equal(t, want, h.Result())
				require.Equal(t, tc.overflowed > 0, h.Result().LostHere())
				if tc.overflowed+tc.lost > 0 {
					text := fmt.Sprintf("dropped=0 overflowed=%d lost=%d", tc.overflowed, tc.lost)
					require.Equal(t, map[string]string{"rosbagd.lost./a": text}, h.bag().custom)
					require.Equal(t, 1, h.logged("topic is not complete"))
				}
			})
		})
	}
}

// On a topic with several subscriptions each message is lost once, or not at all when one of them got it.
func TestLossesOfSeveralSubscriptions(t *testing.T) {
	const reliable, bestEffort = 1, 2 // publishers
	for name, tc := range map[string]struct {
		run              func(h *harness, strict, loose node.SubscriptionID)
		written          uint64
		overflowed, lost uint64
	}{
		"the other one got it": {
			func(h *harness, strict, loose node.SubscriptionID) {
				h.sub.tell([]node.Loss{{Subscription: loose, Count: 2}},
					message(strict, reliable, 1), message(strict, reliable, 2), message(strict, reliable, 3), message(strict, reliable, 4),
					message(loose, reliable, 1), message(loose, reliable, 4))
			}, 4, 0, 0,
		},
		"lost on the way to both": {
			func(h *harness, strict, loose node.SubscriptionID) {
				h.sub.tell([]node.Loss{{Subscription: loose, Count: 2}, {Subscription: strict, Count: 2}},
					message(loose, reliable, 1), message(loose, reliable, 4), message(strict, reliable, 1), message(strict, reliable, 4))
			}, 2, 0, 2,
		},
		"arrived at the strict one and overflowed there": {
			func(h *harness, strict, loose node.SubscriptionID) {
				h.sub.tell([]node.Loss{{Subscription: loose, Count: 2}},
					message(loose, reliable, 1), message(strict, reliable, 1), message(loose, reliable, 4), message(strict, reliable, 4))
			}, 2, 2, 0,
		},
		"each publisher by its own": {
			func(h *harness, strict, loose node.SubscriptionID) {
				h.sub.tell([]node.Loss{{Subscription: loose, Count: 3}},
					message(strict, reliable, 1), message(strict, reliable, 6),
					message(loose, bestEffort, 1), message(loose, bestEffort, 5))
			}, 4, 4, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
				h.graph.set("/a", stringType, volatilePublisher(reliable), publisher(bestEffort, qos.BestEffort, qos.Volatile))
				h.run()
				require.NoError(t, h.Record("bag"))
				synctest.Wait()
				ids := h.sub.ids("/a")
				require.Len(t, ids, 2)
				require.Equal(t, qos.Reliable, h.sub.made[0].profile.Reliability, "the strictest comes first")
				tc.run(h, ids[0], ids[1])
				require.NoError(t, h.shutdown())
				got := h.Result()
				require.Equal(t, tc.written, got.Written)
				require.Equal(t, tc.overflowed, got.Overflowed, "overflowed")
				require.Equal(t, tc.lost, got.Lost, "lost")
			})
		})
	}
}

// Where the middleware numbers nothing, nobody claims that nothing was lost.
func TestLossesWithoutNumbersAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		m := message(h.sub.ids("/a")[0], 1, 1)
		m.Sequence = node.NoSequence
		h.sub.give(m)
		require.NoError(t, h.shutdown())
		require.True(t, h.Stats()[0].LostUnknown)
		require.Equal(t, map[string]string{"rosbagd.lost./a": "dropped=0 overflowed=unknown lost=unknown"}, h.bag().custom)
		require.Equal(t, 1, h.logged("is not known: the middleware does not number messages"))
		require.False(t, h.Result().LostHere())
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
				require.Equal(t, fmt.Sprintf("dropped=%d overflowed=0 lost=0", c.result.Dropped), h.bag().custom["rosbagd.lost./a"])

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
