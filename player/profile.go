package player

import (
	"time"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// Bounds for the history of a publisher that keeps messages for late joiners.
const (
	latchedDepth = 5000     // Fast DDS holds no more in one writer unless configured
	latchedBytes = 64 << 20 // of one topic, as far as the bag tells its size
)

// offer chooses the profile to publish a topic with: the first recorded offer if all agree in what decides whether a
// subscription fits, the default otherwise. mixed says that they did not agree.
func offer(topic storage.TopicInfo) (profile qos.Profile, mixed bool) {
	profile = qos.Default()
	for _, recorded := range topic.OfferedQoS {
		if !compatible(topic.OfferedQoS[0], recorded) {
			return profile, true
		}
	}
	if len(topic.OfferedQoS) > 0 {
		depth := profile.Depth
		profile = topic.OfferedQoS[0]
		profile.History, profile.Depth = qos.KeepLast, depth
	}
	if profile.Durability == qos.TransientLocal {
		profile.Depth = max(profile.Depth, keepAllDepth(topic))
	}
	return profile, false
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

// keepAllDepth is enough for all messages of the topic, within the bounds.
func keepAllDepth(topic storage.TopicInfo) int {
	count := min(topic.MessageCount, latchedDepth)
	if topic.MessageCount > 0 && topic.PayloadBytes > 0 {
		mean := max(topic.PayloadBytes/topic.MessageCount, 1)
		count = min(count, latchedBytes/mean)
	}
	return int(count)
}
