package player

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/storage/qos"
)

func TestOffer(t *testing.T) {
	change := func(base qos.Profile, f func(*qos.Profile)) qos.Profile { f(&base); return base }
	sensor := qos.Profile{History: qos.KeepAll, Depth: 3, Reliability: qos.BestEffort, Durability: qos.Volatile, Lifespan: time.Second}
	kept := change(sensor, func(p *qos.Profile) { p.History, p.Depth = qos.KeepLast, 10 })
	cases := []struct {
		name   string
		offers []qos.Profile
		want   qos.Profile
		mixed  bool
	}{
		{"none recorded", nil, qos.Default(), false},
		{"one, with the history of a publisher of ours", []qos.Profile{sensor}, kept, false},
		{"history and lifespan do not count", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Depth, p.Lifespan = 1, 0 })}, kept, false},
		{"two ways to have no deadline", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Deadline = qos.Infinite })}, kept, false},
		{"reliability", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Reliability = qos.Reliable })}, qos.Default(), true},
		{"durability", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Durability = qos.TransientLocal })}, qos.Default(), true},
		{"deadline", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Deadline = time.Second })}, qos.Default(), true},
		{"liveliness", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.Liveliness = qos.ManualByTopic })}, qos.Default(), true},
		{"lease", []qos.Profile{sensor, change(sensor, func(p *qos.Profile) { p.LivelinessLeaseDuration = 1 })}, qos.Default(), true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, mixed := offer(topic("/x", tc.offers...))
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.mixed, mixed)
		})
	}
}

func TestLatchedPublishersKeepWhatTheBagHas(t *testing.T) {
	cases := []struct {
		name         string
		count, bytes uint64
		want         int
	}{
		{"not less than usual", 3, 300, 10},
		{"all", 250, 25_000, 250},
		{"all, of unknown size", 250, 0, 250},
		{"no more than the middleware holds", 1 << 40, 1 << 41, latchedDepth},
		{"no more than the memory", 100, 100 << 22, 16},
		{"none", 0, 0, 10},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			info := topic("/x", latchedProfile())
			info.MessageCount, info.PayloadBytes = tc.count, tc.bytes
			got, _ := offer(info)
			require.Equal(t, tc.want, got.Depth)
		})
	}
}
