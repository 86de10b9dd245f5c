package recorder

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

func TestSubscriptionProfiles(t *testing.T) {
	profile := func(r qos.Reliability, d qos.Durability, depth int) qos.Profile {
		return qos.Profile{History: qos.KeepLast, Depth: depth, Reliability: r, Durability: d}
	}
	latched, plain := publisher(1, qos.Reliable, qos.TransientLocal), publisher(2, qos.Reliable, qos.Volatile)
	sensor, odd := publisher(3, qos.BestEffort, qos.Volatile), publisher(4, qos.BestEffort, qos.TransientLocal)
	unknown := publisher(5, qos.ReliabilityUnknown, qos.DurabilityUnknown)
	deep := func(depth int) node.Endpoint {
		p := plain
		p.QoS.History, p.QoS.Depth = qos.KeepLast, depth
		return p
	}
	for name, c := range map[string]struct {
		publishers []node.Endpoint
		depth      int
		want       []qos.Profile
	}{
		"nobody":           {nil, 10, []qos.Profile{profile(qos.Reliable, qos.Volatile, 10)}},
		"one":              {[]node.Endpoint{plain}, 10, []qos.Profile{profile(qos.Reliable, qos.Volatile, 10)}},
		"latched":          {[]node.Endpoint{latched, latched}, 10, []qos.Profile{profile(qos.Reliable, qos.TransientLocal, 10)}},
		"sensor":           {[]node.Endpoint{sensor}, 10, []qos.Profile{profile(qos.BestEffort, qos.Volatile, 10)}},
		"unknown fits all": {[]node.Endpoint{unknown}, 10, []qos.Profile{profile(qos.BestEffort, qos.Volatile, 10)}},
		"latched beside sensor": {
			[]node.Endpoint{sensor, latched},
			10,
			[]qos.Profile{profile(qos.Reliable, qos.TransientLocal, 10), profile(qos.BestEffort, qos.Volatile, 10)},
		},
		"all four": {
			[]node.Endpoint{odd, sensor, latched, plain},
			10,
			[]qos.Profile{
				profile(qos.Reliable, qos.TransientLocal, 10), profile(qos.Reliable, qos.Volatile, 10),
				profile(qos.BestEffort, qos.TransientLocal, 10), profile(qos.BestEffort, qos.Volatile, 10),
			},
		},
		"depth of a publisher": {[]node.Endpoint{deep(3000), plain}, 10, []qos.Profile{profile(qos.Reliable, qos.Volatile, 3000)}},
		"depth is bounded":     {[]node.Endpoint{deep(9000)}, 10, []qos.Profile{profile(qos.Reliable, qos.Volatile, MaxDepth)}},
		"option is bounded":    {[]node.Endpoint{plain}, 100000, []qos.Profile{profile(qos.Reliable, qos.Volatile, MaxDepth)}},
		"at least one":         {[]node.Endpoint{plain}, 0, []qos.Profile{profile(qos.Reliable, qos.Volatile, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, subscriptionProfiles(c.publishers, c.depth))
		})
	}
}

func TestCommonHash(t *testing.T) {
	with := func(hashes ...string) (publishers []node.Endpoint) {
		for _, h := range hashes {
			publishers = append(publishers, node.Endpoint{TypeHash: h})
		}
		return publishers
	}
	for name, c := range map[string]struct {
		hashes []string
		hash   string
		agreed bool
	}{
		"none":    {nil, "", true},
		"same":    {[]string{"a", "a"}, "a", true},
		"missing": {[]string{"a", ""}, "", true},
		"differ":  {[]string{"a", "b"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			hash, agreed := commonHash(with(c.hashes...))
			require.Equal(t, c.hash, hash)
			require.Equal(t, c.agreed, agreed)
		})
	}
}

func TestRefuses(t *testing.T) {
	for _, tc := range []struct {
		asked, offered class
		policy         string
	}{
		{class{}, class{}, ""},
		{class{}, class{true, true}, ""},
		{class{true, true}, class{true, true}, ""},
		{class{reliable: true}, class{}, "reliability"},
		{class{reliable: true}, class{reliable: true}, ""},
		{class{transientLocal: true}, class{reliable: true}, "durability"},
	} {
		policy, refused := refuses(tc.asked.profile(1), tc.offered.profile(1))
		require.Equal(t, tc.policy, policy, "%+v", tc)
		require.Equal(t, tc.policy != "", refused, "%+v", tc)
	}
}
