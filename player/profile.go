package player

import (
	"time"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Bounds for the history of a publisher.
const (
	// latchedDepth bounds what is kept for late joiners: Fast DDS holds no more in one writer unless configured.
	latchedDepth = 5000
	// reliableDepth bounds what is kept for reliable subscriptions that lag. They are sent it again; rosbag2's depth of
	// 10 loses messages as soon as one lags by more.
	reliableDepth = 1000
	// historyBytes bounds both in memory, per topic.
	historyBytes = 256 << 20
)

// offer chooses the profile to publish a topic with: the first recorded offer if all agree in what decides whether a
// subscription fits, the default otherwise. mixed says that they did not agree. bagBytes is the size of the whole bag.
func offer(topic storage.TopicInfo, bagBytes int64) (profile qos.Profile, mixed bool) {
	profile = qos.Default()
	for _, recorded := range topic.OfferedQoS {
		mixed = mixed || !compatible(topic.OfferedQoS[0], recorded)
	}
	if len(topic.OfferedQoS) > 0 && !mixed {
		depth := profile.Depth
		profile = topic.OfferedQoS[0]
		profile.History, profile.Depth = qos.KeepLast, depth
	}
	switch {
	case profile.Durability == qos.TransientLocal:
		profile.Depth = max(profile.Depth, keepDepth(topic, bagBytes, latchedDepth))
	case profile.Reliability == qos.Reliable:
		profile.Depth = max(profile.Depth, keepDepth(topic, bagBytes, reliableDepth))
	}
	return profile, mixed
}

func compatible(a, b qos.Profile) bool {
	return a.Reliability == b.Reliability && a.Durability == b.Durability &&
		finite(a.Deadline) == finite(b.Deadline) && a.Liveliness == b.Liveliness &&
		finite(a.LivelinessLeaseDuration) == finite(b.LivelinessLeaseDuration)
}

// finite makes the two ways to write "none" one.
func finite(d time.Duration) time.Duration {
	if d == qos.Infinite {
		return 0
	}
	return d
}

// keepDepth is enough for all messages of the topic, within the bounds. Where a bag does not tell the size of a topic,
// no message is taken to be larger than the bag's share for one.
func keepDepth(topic storage.TopicInfo, bagBytes int64, limit uint64) int {
	count := min(topic.MessageCount, limit)
	bytes := topic.PayloadBytes
	if bytes == 0 {
		bytes = uint64(max(bagBytes, 0))
	}
	if topic.MessageCount > 0 && bytes > 0 {
		mean := max(bytes/topic.MessageCount, 1)
		count = min(count, historyBytes/mean)
	}
	return int(count)
}
