package recorder

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

func inBubble(t *testing.T, opts Options, test func(h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, opts)
		h.run()
		test(h)
		require.NoError(t, h.shutdown())
	})
}

func (h *harness) record() {
	require.NoError(h.t, h.Record("bag"))
	synctest.Wait()
}

func TestNamedTopicsAreSubscribedBeforeTheAnnouncement(t *testing.T) {
	inBubble(t, Options{Filter: Filter{Topics: []string{"/b", "/a", "/a", "/late"}}}, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.graph.set("/b", stringType, volatilePublisher(1))
		h.graph.set("/c", stringType, volatilePublisher(1))
		h.graph.set("/late", stringType)
		h.record()
		var order []string
		for _, entry := range h.logs.All() {
			order = append(order, entry.Message)
		}
		require.Equal(t, []string{
			"Waiting for ~/record.",
			"Starting recording to 'bag'", "Listening for topics...", "Subscribed to topic '/a'", "Subscribed to topic '/b'",
			"Recording...",
		}, order)
		require.True(t, h.IsDiscoveryRunning(), "one is missing")

		h.graph.set("/late", stringType, volatilePublisher(2))
		synctest.Wait()
		require.Len(t, h.sub.ids("/late"), 1, "at once, not at the next interval")
		require.Equal(t, 1, h.logged("All requested topics are subscribed. Stopping discovery..."))
		require.False(t, h.IsDiscoveryRunning())
		require.Empty(t, h.sub.ids("/c"))
	})
}

func TestTopicsThatCanNotBeRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		filter  Filter
		prepare func(h *harness)
		logged  string
		times   int
	}{
		"unknown type": {
			Filter{AllTopics: true},
			func(h *harness) {
				h.graph.set("/b", "ghosts/msg/Casper", volatilePublisher(2))
				h.sub.fail["/b"] = fmt.Errorf("package ghosts: %w", node.ErrNotInstalled)
			},
			"Topic '/b' has unknown type 'ghosts/msg/Casper'", 1,
		},
		"unknown type that nobody asked for": {
			Filter{Topics: []string{"/a", "/c"}},
			func(h *harness) {
				h.graph.set("/b", "ghosts/msg/Casper", volatilePublisher(2))
				h.sub.fail["/b"] = fmt.Errorf("package ghosts: %w", node.ErrNotInstalled)
			},
			"unknown type", 0,
		},
		"several types": {
			Filter{AllTopics: true},
			func(h *harness) {
				h.graph.setTypes("/b", []string{stringType, "std_msgs/msg/Bool"}, volatilePublisher(2))
			},
			"topic has more than one type", 1,
		},
		"several types that nobody asked for": {
			Filter{Topics: []string{"/a", "/c"}},
			func(h *harness) {
				h.graph.setTypes("/b", []string{stringType, "std_msgs/msg/Bool"}, volatilePublisher(2))
			},
			"topic has more than one type", 0,
		},
		"hidden": {
			Filter{AllTopics: true},
			func(h *harness) { h.graph.set("/_b", stringType, volatilePublisher(2)) },
			"Hidden topics are not recorded", 1,
		},
		"subscription fails": {
			Filter{AllTopics: true},
			func(h *harness) {
				h.graph.set("/b", stringType, volatilePublisher(2))
				h.sub.fail["/b"] = errors.New("out of memory")
			},
			"topic can not be subscribed", 1,
		},
		"without publisher": {
			Filter{AllTopics: true},
			func(h *harness) { h.graph.set("/b", stringType) },
			"'/b'", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Filter: c.filter}, func(h *harness) {
				h.graph.set("/a", stringType, volatilePublisher(1))
				h.graph.set("/c", stringType, volatilePublisher(3))
				c.prepare(h)
				h.record()
				for n := range byte(10) {
					h.graph.set("/other", stringType, volatilePublisher(10+n)) // other things change
					pass(time.Second)
				}
				require.Equal(t, c.times, h.logged(c.logged))
				require.Len(t, h.sub.ids("/a"), 1)
				require.Len(t, h.sub.ids("/c"), 1, "the rest goes on")
				require.Empty(t, h.sub.ids("/b"))
				require.Empty(t, h.sub.ids("/_b"))
			})
		})
	}
}

func TestFailedSubscriptionIsTriedAgain(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.sub.fail["/a"] = errors.New("out of memory")
		h.record()
		require.Empty(t, h.sub.ids("/a"))
		h.sub.mu.Lock()
		delete(h.sub.fail, "/a")
		h.sub.mu.Unlock()
		pass(time.Second)
		require.Len(t, h.sub.ids("/a"), 1)
	})
}

func TestGraphThatDoesNotAnswer(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.record()
		h.graph.fail(errors.New("graph is gone"))
		h.graph.set("/b", stringType, volatilePublisher(2))
		pass(10 * time.Second)
		require.Empty(t, h.sub.ids("/b"))
		require.Len(t, h.sub.ids("/a"), 1)
		require.Equal(t, 1, h.logged("graph can not be watched"))
		require.Equal(t, 1, h.logged("topics can not be listed"))
		h.graph.fail(nil)
		pass(time.Second)
		require.Len(t, h.sub.ids("/b"), 1)
	})
}

func TestUnknownDefinitionIsRecordedWithout(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", "demo/msg/New", volatilePublisher(1))
		h.graph.set("/b", "demo/msg/New", volatilePublisher(1))
		h.record()
		require.Len(t, h.bag().allTopics(), 2)
		require.Zero(t, h.bag().allTopics()[0].Definition)
		require.Equal(t, 1, h.logged("definition of a type was not found"))
	})
}

func TestDisagreeingHashes(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		other := volatilePublisher(2)
		other.TypeHash = "RIHS01_b"
		h.graph.set("/a", stringType, volatilePublisher(1), other)
		h.record()
		require.Empty(t, h.bag().allTopics()[0].TypeHash)
		require.Equal(t, 1, h.logged("type description hashes for topic type"))
	})
}

func TestOverride(t *testing.T) {
	override := qos.Profile{History: qos.KeepAll, Reliability: qos.BestEffort, Durability: qos.Volatile, Deadline: time.Second}
	opts := Options{Filter: Filter{AllTopics: true}, QoSOverrides: map[string]qos.Profile{"/a": override}}
	inBubble(t, opts, func(h *harness) {
		latched := publisher(1, qos.Reliable, qos.TransientLocal)
		h.graph.set("/a", stringType, latched, publisher(2, qos.BestEffort, qos.Volatile))
		h.record()
		h.graph.set("/a", stringType, latched, publisher(3, qos.Reliable, qos.Volatile))
		pass(10 * time.Second)
		require.Equal(t, 1, h.sub.count(), "an override is not adapted")
		require.Equal(t, override, h.sub.made[0].profile)
		require.Equal(t, 1, h.logged("Overriding subscription profile for /a"))
	})
}

func TestMixedOffersCostNoMessage(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		latched, sensor := publisher(1, qos.Reliable, qos.TransientLocal), publisher(2, qos.BestEffort, qos.Volatile)
		h.graph.set("/a", stringType, latched, sensor)
		h.record()
		ids := h.sub.ids("/a")
		require.Len(t, ids, 2)
		require.Equal(t, qos.TransientLocal, h.sub.made[0].profile.Durability)
		require.Equal(t, qos.BestEffort, h.sub.made[1].profile.Reliability)
		h.sub.give(message(ids[0], 1, 1), message(ids[0], 1, 2), message(ids[1], 2, 9), message(ids[1], 1, 2))
		h.sub.give(message(ids[1], 1, 3), message(ids[0], 1, 3))
		require.Equal(t, []string{"1", "2", "9", "3"}, h.bag().payloads("/a"))
		require.Len(t, h.bag().allTopics(), 1)
		require.Len(t, h.bag().allTopics()[0].OfferedQoS, 2)
	})
}

func TestOneSubscriptionComparesNothing(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.record()
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 1), message(id, 1, 1))
		require.Len(t, h.bag().payloads("/a"), 2)
	})
}

func TestSubscriptionsFollowOffers(t *testing.T) {
	latched, sensor := publisher(1, qos.Reliable, qos.TransientLocal), publisher(2, qos.BestEffort, qos.Volatile)
	inBubble(t, Options{Filter: Filter{Topics: []string{"/a"}}}, func(h *harness) {
		h.graph.set("/a", stringType, sensor)
		h.record()
		require.False(t, h.IsDiscoveryRunning(), "offers are followed though all topics are found")
		h.graph.set("/a", stringType, sensor, latched)
		pass(time.Second)
		require.Equal(t, []string{"+1", "+2"}, h.sub.history())
		require.Len(t, h.bag().allTopics()[0].OfferedQoS, 2)

		h.sub.give(message(1, 2, 1))
		h.graph.set("/a", stringType, latched)
		pass(retireAfter / 2)
		require.Equal(t, []string{"+1", "+2"}, h.sub.history(), "the last messages are waited for")
		h.sub.give(message(1, 2, 2))
		pass(retireAfter)
		require.Equal(t, []string{"+1", "+2", "-1"}, h.sub.history())
		h.sub.give(message(1, 2, 3), message(2, 1, 1))
		require.Equal(t, []string{"1", "2", "3", "1"}, h.bag().payloads("/a"), "ids stay known after their end")

		h.graph.set("/a", stringType)
		pass(10 * retireAfter)
		require.Len(t, h.sub.ids("/a"), 1, "a topic without publishers stays subscribed")
		require.Len(t, h.bag().allTopics()[0].OfferedQoS, 2, "offers of the past stay")
	})
}

func TestClassThatComesBackKeepsItsSubscription(t *testing.T) {
	latched, sensor := publisher(1, qos.Reliable, qos.TransientLocal), publisher(2, qos.BestEffort, qos.Volatile)
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, sensor, latched)
		h.record()
		h.graph.set("/a", stringType, latched)
		pass(retireAfter / 2)
		h.graph.set("/a", stringType, latched, sensor)
		pass(10 * retireAfter)
		require.Equal(t, []string{"+1", "+2"}, h.sub.history())
	})
}

func TestIdleGraphIsNotAsked(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		for n := range byte(50) {
			h.graph.set(fmt.Sprintf("/a%d", n), stringType, volatilePublisher(n))
		}
		h.record()
		pass(time.Second)
		listed := h.graph.asked()
		pass(time.Minute)
		require.Equal(t, listed, h.graph.asked())
	})
}

func TestSecondTypeOnARecordedTopicIsTold(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.record()
		h.graph.setTypes("/a", []string{stringType, "std_msgs/msg/Int32"}, volatilePublisher(1), volatilePublisher(2))
		pass(2 * relookInterval)
		require.Equal(t, 1, h.logged("only one of them is recorded"))
	})
}

// A change that the middleware does not tell is found all the same.
func TestForgottenGraphChange(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.record()
		h.graph.mu.Lock()
		h.graph.types["/a"] = []string{stringType}
		h.graph.publishers["/a"] = []node.Endpoint{volatilePublisher(1)}
		h.graph.mu.Unlock()
		pass(2 * relookInterval)
		require.Len(t, h.sub.ids("/a"), 1)
	})
}

func TestNoDiscovery(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}, NoDiscovery: true}, func(h *harness) {
		recorded := make(chan error)
		go func() { recorded <- h.Record("bag") }()
		for n := range byte(3) { // the graph is still filling up
			h.graph.set(fmt.Sprintf("/a%d", n), stringType, volatilePublisher(n))
			pass(settleTime / 2)
		}
		require.Zero(t, h.sub.count())
		require.NoError(t, <-recorded)
		synctest.Wait()
		require.Equal(t, 3, h.sub.count())
		require.False(t, h.IsDiscoveryRunning())
		h.graph.set("/late", stringType, volatilePublisher(9))
		pass(time.Second)
		require.Equal(t, 3, h.sub.count())
	})
}

func TestStartAndStopDiscovery(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		require.ErrorIs(t, h.StartDiscovery(), ErrNotRecording)
		require.ErrorIs(t, h.StopDiscovery(), ErrDiscoveryStopped)
		require.False(t, h.IsDiscoveryRunning())
		h.record()
		require.True(t, h.IsDiscoveryRunning())
		require.ErrorIs(t, h.StartDiscovery(), ErrDiscoveryRunning)
		require.NoError(t, h.StopDiscovery())
		h.graph.set("/a", stringType, volatilePublisher(1))
		pass(time.Second)
		require.Zero(t, h.sub.count())
		require.ErrorIs(t, h.StopDiscovery(), ErrDiscoveryStopped)
		require.NoError(t, h.StartDiscovery())
		pass(time.Second)
		require.Len(t, h.sub.ids("/a"), 1)
	})
}

// A message may be taken before Subscribe has told whose it is.
func TestMessageOfASubscriptionInTheMaking(t *testing.T) {
	s := newFakeSubscriber()
	tb := newTable(s)
	tp := &topic{name: "/a"}
	found := make(chan *source)
	made, err := tb.subscribe(tp, qos.Default(), func() {
		go func() { found <- tb.find(1) }()
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, made.id)
	require.Same(t, made, <-found)
	require.Same(t, tp, tb.topicOf(1))
	require.Nil(t, tb.find(2))
}

func BenchmarkHotPath(b *testing.B) {
	sub := newFakeSubscriber()
	rec := newRecording("bag", &fakeBag{}, &lifetime{sweeps: newSweeps(sub)}, Options{MaxCacheSize: DefaultMaxCacheSize}.withDefaults(), Environment{Subscriber: sub, Logger: zap.NewNop()})
	tp := &topic{name: "/a", inBag: true}
	made, err := rec.table.subscribe(tp, qos.Default(), func() {})
	require.NoError(b, err)
	const batchSize = 100
	messages, scratch := make([]node.Message, batchSize), make([]node.Message, batchSize)
	rec.bag = discard{rec.bag}
	b.ReportAllocs()
	seq := uint64(0)
	for range b.N {
		for i := range messages {
			messages[i] = node.Message{Subscription: made.id, Sequence: seq, GID: node.GID{byte(i % 4)}}
			if i%4 == 3 {
				seq++
			}
		}
		copy(scratch, messages)
		rec.accept(node.NewBatch(scratch, batchSize*100, nil), nil)
		it, err := rec.cache.pop(b.Context())
		require.NoError(b, err)
		rec.writeBatch(it.batch)
		rec.cache.done(it.batch)
	}
	require.EqualValues(b, b.N*batchSize, tp.counters.written.Load())
	b.ReportMetric(float64(b.N)*batchSize/b.Elapsed().Seconds(), "msg/s")
}

type discard struct{ Bag }

func (discard) Write([]storage.Message) error { return nil }
