package recorder

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rosbagd/node"
)

func TestSeqSet(t *testing.T) {
	for name, c := range map[string]struct {
		add     []uint64
		fresh   []bool
		missing uint64
		limit   int
	}{
		"in order":              {[]uint64{1, 2, 3}, []bool{true, true, true}, 0, 4},
		"joined late":           {[]uint64{5000, 5001}, []bool{true, true}, 0, 4},
		"gap":                   {[]uint64{1, 5}, []bool{true, true}, 3, 4},
		"gap filled late":       {[]uint64{1, 3, 2}, []bool{true, true, true}, 0, 4},
		"repeated":              {[]uint64{1, 1, 2, 1}, []bool{true, false, true, false}, 0, 4},
		"older than the first":  {[]uint64{10, 8, 9}, []bool{true, true, true}, 0, 4},
		"gap below the first":   {[]uint64{10, 5}, []bool{true, true}, 4, 4},
		"from zero":             {[]uint64{0, 1, 0}, []bool{true, true, false}, 0, 4},
		"largest number":        {[]uint64{^uint64(0) - 1, ^uint64(0), 0}, []bool{true, true, true}, ^uint64(0) - 2, 4},
		"oldest gap gets final": {[]uint64{1, 3, 5, 2, 4}, []bool{true, true, true, false, true}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := seqSet{limit: c.limit}
			for i, seq := range c.add {
				require.Equal(t, c.fresh[i], s.add(seq), "number %d", seq)
			}
			require.Equal(t, c.missing, s.missing)
		})
	}
}

// With room for all intervals, the set agrees with a map in everything; with less it stays ordered and within its
// bound, never takes a number twice, and only counts more as missing.
func TestSeqSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64Range(100, 160)).Draw(t, "numbers")
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		exact, bounded := seqSet{limit: 100}, seqSet{limit: limit}
		seen, low, high := map[uint64]bool{}, ^uint64(0), uint64(0)
		for _, n := range numbers {
			fresh := exact.add(n)
			require.Equal(t, !seen[n], fresh)
			if bounded.add(n) {
				require.False(t, seen[n])
			}
			seen[n] = true
			low, high = min(low, n), max(high, n)
			require.Equal(t, high-low+1-uint64(len(seen)), exact.missing)
			require.GreaterOrEqual(t, bounded.missing, exact.missing)
			require.LessOrEqual(t, len(bounded.intervals), limit)
			for _, s := range []seqSet{exact, bounded} {
				for i, iv := range s.intervals {
					require.LessOrEqual(t, iv.low, iv.high)
					if i > 0 {
						require.Greater(t, iv.low, s.intervals[i-1].high+1)
					}
				}
			}
		}
	})
}

func TestStreamsForgetTheOldestPublisher(t *testing.T) {
	var s streams
	see := func(gid int, seq uint64) bool {
		m := node.Message{GID: node.GID{byte(gid), byte(gid >> 8)}, Sequence: seq}
		fresh, _ := s.see(&m, &source{}, true)
		return fresh
	}
	for gid := range streamsPerTopic {
		require.True(t, see(gid, 1))
		require.True(t, see(gid, 3))
	}
	require.False(t, see(0, 3))              // used again: number 1 is the oldest now
	require.True(t, see(streamsPerTopic, 1)) // one more than there is room for
	require.False(t, see(0, 3))              // still known
	require.True(t, see(1, 3))               // forgotten
	require.Len(t, s.byGID, streamsPerTopic)
	require.EqualValues(t, streamsPerTopic, s.missing) // losses of the forgotten stay counted
}

func TestStreamsWithoutNumbers(t *testing.T) {
	var s streams
	see := func(sent int64, compare bool) bool {
		fresh, changed := s.see(&node.Message{Sequence: node.NoSequence, SourceNanos: sent}, &source{}, compare)
		require.False(t, changed)
		return fresh
	}
	require.True(t, see(10, false))
	require.True(t, see(10, false), "one subscription: nothing is compared")
	require.True(t, see(20, true))
	require.True(t, see(40, true))
	require.False(t, see(20, true))
	require.True(t, see(30, true))
	require.True(t, s.unnumbered)
}

func BenchmarkStreams(b *testing.B) {
	for _, publishers := range []int{1, 20} {
		b.Run(fmt.Sprint(publishers), func(b *testing.B) {
			var s streams
			m, from := node.Message{}, &source{}
			b.ReportAllocs()
			for i := range b.N {
				m.GID[0] = byte(i % publishers)
				m.Sequence = uint64(i / publishers)
				s.see(&m, from, true)
			}
		})
	}
}
