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
			got, mixed := offer(topic("/x", tc.offers...), 0)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.mixed, mixed)
		})
	}
}

func TestHistoryIsForWhatTheBagHas(t *testing.T) {
	reliable := qos.Default()
	bestEffort := reliable
	bestEffort.Reliability = qos.BestEffort
	cases := []struct {
		name         string
		offered      qos.Profile
		count, bytes uint64
		bag          int64
		want         int
	}{
		{"latched: not less than usual", latchedProfile(), 3, 300, 0, 10},
		{"latched: all", latchedProfile(), 250, 25_000, 0, 250},
		{"latched: all, of unknown size", latchedProfile(), 250, 0, 0, 250},
		{"latched: all, in a small bag", latchedProfile(), 250, 0, 1 << 20, 250},
		{"latched: no more than the middleware holds", latchedProfile(), 1 << 40, 1 << 41, 0, latchedDepth},
		{"latched: no more than the memory", latchedProfile(), 100, 100 << 22, 0, 64},
		{"latched: no more than the memory, judged by the bag", latchedProfile(), 100, 0, 100 << 22, 64},
		{"latched: none", latchedProfile(), 0, 0, 1 << 40, 10},
		{"reliable: all", reliable, 250, 25_000, 0, 250},
		{"reliable: enough", reliable, 1 << 20, 1 << 24, 0, reliableDepth},
		{"reliable: no more than the memory", reliable, 1000, 0, 1000 << 22, 64},
		{"reliable: not less than usual", reliable, 100, 100 << 26, 0, 10},
		{"best effort: as usual", bestEffort, 250, 25_000, 0, 10},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			info := topic("/x", tc.offered)
			info.MessageCount, info.PayloadBytes = tc.count, tc.bytes
			got, _ := offer(info, tc.bag)
			require.Equal(t, tc.want, got.Depth)
		})
	}
}
