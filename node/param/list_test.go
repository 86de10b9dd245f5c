package param

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	s := NewStore(nil)
	for _, name := range []string{"use_sim_time", "play.rate", "play.delay.sec", "play.delay.nsec", "playground.x", "play"} {
		declare(t, s, name, Of(true), Descriptor{})
	}
	for name, tc := range map[string]struct {
		prefixes      []string
		depth         uint64
		names, groups []string
	}{
		"everything": {
			nil, Recursive,
			[]string{"play", "play.delay.nsec", "play.delay.sec", "play.rate", "playground.x", "use_sim_time"},
			[]string{"play.delay", "play", "playground"},
		},
		"the top":         {nil, 1, []string{"play", "use_sim_time"}, nil},
		"two parts":       {nil, 2, []string{"play", "play.rate", "playground.x", "use_sim_time"}, []string{"play", "playground"}},
		"all of a prefix": {[]string{"play"}, Recursive, []string{"play", "play.delay.nsec", "play.delay.sec", "play.rate"}, []string{"play.delay", "play"}},
		"near a prefix":   {[]string{"play"}, 1, []string{"play", "play.rate"}, []string{"play"}},
		"deeper":          {[]string{"play.delay"}, 1, []string{"play.delay.nsec", "play.delay.sec"}, []string{"play.delay"}},
		"a name":          {[]string{"play.rate"}, 5, []string{"play.rate"}, []string{"play"}},
		"two prefixes":    {[]string{"playground", "use_sim_time"}, Recursive, []string{"playground.x", "use_sim_time"}, []string{"playground"}},
		"no such":         {[]string{"pla"}, Recursive, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			names, groups := s.List(tc.prefixes, tc.depth)
			require.Equal(t, tc.names, names)
			require.Equal(t, tc.groups, groups)
		})
	}
}
