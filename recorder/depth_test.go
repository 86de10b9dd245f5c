package recorder

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

func TestHistoryDepth(t *testing.T) {
	for name, c := range map[string]struct {
		limit        int
		budget, size int64
		keep, want   int
	}{
		"size not known":        {5000, 64 << 20, 0, 1, 5000},
		"small messages":        {5000, 64 << 20, 100, 1, 5000},
		"images":                {5000, 64 << 20, 6_000_000, 1, 11},
		"larger than the whole": {5000, 64 << 20, 100 << 20, 0, 1},
		"publishers keep more":  {5000, 64 << 20, 6_000_000, 30, 30},
		"what Fast DDS can do":  {100_000, 64 << 20, 0, 70_000, MaxDepth},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, historyDepth(c.limit, c.budget, c.size, c.keep))
		})
	}
}

func TestWhatPublishersKeep(t *testing.T) {
	keeps := func(history qos.History, depth int, durability qos.Durability) node.Endpoint {
		return node.Endpoint{QoS: qos.Profile{History: history, Depth: depth, Durability: durability}}
	}
	latched := keeps(qos.KeepLast, 1, qos.TransientLocal)
	for name, c := range map[string]struct {
		publishers []node.Endpoint
		want       int
	}{
		"nobody":                {nil, 0},
		"the most of one":       {[]node.Endpoint{keeps(qos.KeepLast, 20, qos.Volatile), keeps(qos.KeepLast, 30, qos.Volatile)}, 30},
		"all latched ones":      {[]node.Endpoint{latched, latched, latched, latched, latched}, 5},
		"depth that is unknown": {[]node.Endpoint{keeps(qos.KeepLast, 0, qos.TransientLocal), keeps(qos.HistoryUnknown, 0, qos.TransientLocal)}, 2},
		"everything":            {[]node.Endpoint{keeps(qos.KeepLast, 1<<30, qos.TransientLocal), latched}, MaxDepth},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, keptBy(c.publishers)) })
	}
}

func TestMeanSizes(t *testing.T) {
	var s sizes
	start := time.Unix(1000, 0)
	require.Zero(t, s.look(start, traffic{}), "nothing has come")
	require.EqualValues(t, 500, s.look(start.Add(sizeWindow/2), traffic{1, 500}))
	require.EqualValues(t, 301, s.look(start.Add(sizeWindow/2), traffic{2, 601}), "rounded up")
	require.EqualValues(t, 301, s.look(start.Add(sizeWindow), traffic{2, 601}), "remembered for another window")
	require.EqualValues(t, 10, s.look(start.Add(2*sizeWindow), traffic{3, 611}))
	require.Zero(t, s.look(start.Add(4*sizeWindow), traffic{3, 611}), "nothing has come lately")
}

// One large message among many small ones does not make their history short.
func TestOneLargeMessageAmongSmallOnes(t *testing.T) {
	var s sizes
	size := s.look(time.Unix(1000, 0), traffic{5000, 5000*500 + 3_000_000})
	require.Equal(t, MaxDepth, historyDepth(MaxDepth, DefaultHistoryBytes, size, 1))
}

// sized is a message of a size.
func sized(id node.SubscriptionID, seq uint64, bytes int) node.Message {
	m := message(id, 1, seq)
	m.Data = []byte(strings.Repeat("x", bytes))
	return m
}

// A history follows the size of what it keeps: another subscription comes, then the old one ends, and nothing is twice
// in the bag or missing.
func TestDepthFollowsTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{HistoryBytes: 10_000})
		first := h.sub.ids("/a")[0]
		depth := func(id node.SubscriptionID) int { return h.sub.made[id-1].profile.Depth }
		require.Equal(t, DefaultDepth, depth(first))
		h.sub.give(sized(first, 1, 1000))
		pass(fitInterval + 100*time.Millisecond)
		ids := h.sub.ids("/a")
		require.Len(t, ids, 2, "both for a while")
		second := ids[1]
		require.Equal(t, 10, depth(second))
		require.Equal(t, h.sub.made[first-1].profile.Reliability, h.sub.made[second-1].profile.Reliability)

		h.sub.give(sized(first, 2, 1000))
		pass(time.Minute)
		require.Len(t, h.sub.ids("/a"), 2, "only the old one gets something")
		h.sub.give(sized(second, 2, 1000), sized(second, 3, 1000), sized(first, 3, 1000))
		pass(2*fitInterval + retireAfter)
		require.Equal(t, []node.SubscriptionID{second}, h.sub.ids("/a"))
		require.Equal(t, []string{"+1", "+2", "-1"}, h.sub.history())

		h.sub.give(sized(second, 4, 10))
		pass(growAfter)
		h.sub.give(sized(second, 5, 10))
		pass(fitInterval + 100*time.Millisecond)
		ids = h.sub.ids("/a")
		require.Len(t, ids, 2)
		require.Equal(t, 1000, depth(ids[1]))
		h.sub.give(sized(ids[1], 6, 10))
		pass(2*fitInterval + retireAfter)
		require.Equal(t, ids[1:], h.sub.ids("/a"))
		require.NoError(t, h.shutdown())
		require.Equal(t, Result{Bags: 1, Received: 6, Written: 6}, h.Result())
	})
}

// A topic on which nothing comes any more is not left with two subscriptions.
func TestReplacedSubscriptionOfASilentTopicEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{HistoryBytes: 10_000})
		h.sub.give(sized(h.sub.ids("/a")[0], 1, 1000))
		pass(unprovenAfter + 2*fitInterval + 200*time.Millisecond)
		require.Len(t, h.sub.ids("/a"), 1)
		require.Equal(t, []string{"+1", "+2", "-1"}, h.sub.history())
		require.NoError(t, h.shutdown())
	})
}

// What publishers keep for late joiners fits in at once, however large it is.
func TestDepthForEveryLatchedPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, HistoryBytes: 2000})
		latched := func(count int) (publishers []node.Endpoint) {
			for gid := range count {
				publishers = append(publishers, publisher(byte(gid), qos.Reliable, qos.TransientLocal))
			}
			return publishers
		}
		h.graph.set("/a", stringType, latched(1)...)
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		h.sub.give(sized(h.sub.ids("/a")[0], 1, 1000))
		pass(unprovenAfter + 2*fitInterval + 200*time.Millisecond)
		require.Equal(t, 2, h.sub.made[1].profile.Depth)
		h.graph.set("/a", stringType, latched(5)...)
		pass(2 * fitInterval)
		require.Equal(t, 5, h.sub.made[2].profile.Depth)
		require.NoError(t, h.shutdown())
	})
}

func TestOverridesKeepTheirDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{HistoryBytes: 1000, QoSOverrides: map[string]qos.Profile{"/a": qos.Default()}})
		h.sub.give(sized(h.sub.ids("/a")[0], 1, 1000))
		pass(time.Minute)
		require.Equal(t, 1, h.sub.count())
		require.NoError(t, h.shutdown())
	})
}
