package clock

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFollower(t *testing.T) {
	type look struct {
		at    int64
		want  Time
		known bool
	}
	for name, c := range map[string]struct {
		pairs []pair
		looks []look
	}{
		"nothing yet":           {nil, []look{{5, 0, false}}},
		"not begun":             {[]pair{{10, 0}}, []look{{15, 0, false}}},
		"before, at, between":   {[]pair{{10, 100}, {20, 200}}, []look{{9, 0, false}, {10, 100, true}, {19, 100, true}, {20, 200, true}, {99, 200, true}}},
		"a simulation restarts": {[]pair{{10, 100}, {20, 200}, {30, 5}, {40, 15}}, []look{{25, 200, true}, {30, 5, true}, {45, 15, true}, {15, 100, true}}},
		"this machine's clock is set back": {
			[]pair{{1000, 100}, {1010, 110}, {500, 120}, {510, 130}},
			[]look{{500, 120, true}, {505, 120, true}, {520, 130, true}, {1005, 130, true}, {400, 120, true}},
		},
		"two at the same instant": {[]pair{{10, 100}, {10, 101}}, []look{{10, 101, true}, {9, 0, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			var f Follower
			for _, p := range c.pairs {
				f.Add(p.received, p.ros)
			}
			for _, l := range c.looks {
				got, known := f.At(l.at)
				require.Equal(t, l, look{l.at, got, known})
			}
		})
	}
}

// However much came, memory is bounded and the newest pairs are found.
func TestFollowerIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Follower
		n := rapid.Int64Range(1, 10*followed).Draw(t, "pairs")
		for i := range n {
			f.Add(10*i, Time(1000+i))
			require.LessOrEqual(t, len(f.pairs), 2*followed)
		}
		at := rapid.Int64Range(max(0, n-followed), n-1).Draw(t, "at")
		got, known := f.At(10*at + 3)
		require.True(t, known)
		require.Equal(t, Time(1000+at), got)
		_, known = f.At(-1)
		require.Equal(t, n > 2*followed, known, "an instant before all is only known to be one while nothing is forgotten")
	})
}
