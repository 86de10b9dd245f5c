//go:build ros

package node

// #include <rmw/types.h>
import "C"

import (
	"math"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"rosbagd/storage/qos"
)

func profileToC(p qos.Profile) C.rmw_qos_profile_t {
	return C.rmw_qos_profile_t{
		history:                         uint32(p.History),
		depth:                           C.size_t(p.Depth),
		reliability:                     uint32(p.Reliability),
		durability:                      uint32(p.Durability),
		deadline:                        durationToC(p.Deadline),
		lifespan:                        durationToC(p.Lifespan),
		liveliness:                      uint32(p.Liveliness),
		liveliness_lease_duration:       durationToC(p.LivelinessLeaseDuration),
		avoid_ros_namespace_conventions: C.bool(p.AvoidROSNamespaceConventions),
	}
}

func profileFromC(p *C.rmw_qos_profile_t) qos.Profile {
	return qos.Profile{
		History:                      qos.History(p.history),
		Depth:                        int(min(uint64(p.depth), math.MaxInt)),
		Reliability:                  qos.Reliability(p.reliability),
		Durability:                   qos.Durability(p.durability),
		Deadline:                     durationFromC(p.deadline),
		Lifespan:                     durationFromC(p.lifespan),
		Liveliness:                   qos.Liveliness(p.liveliness),
		LivelinessLeaseDuration:      durationFromC(p.liveliness_lease_duration),
		AvoidROSNamespaceConventions: bool(p.avoid_ros_namespace_conventions),
	}
}

func durationToC(d time.Duration) C.rmw_time_t {
	return C.rmw_time_t{sec: C.uint64_t(d / time.Second), nsec: C.uint64_t(d % time.Second)}
}

// durationFromC saturates: each middleware has its own way of saying infinite.
func durationFromC(t C.rmw_time_t) time.Duration {
	const maxSec = uint64(math.MaxInt64 / int64(time.Second))
	sec, nsec := uint64(t.sec), uint64(t.nsec)
	if sec >= maxSec || nsec >= math.MaxInt64-sec*uint64(time.Second) {
		return qos.Infinite
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec)
}

func profileToRclgo(p qos.Profile) rclgo.QosProfile {
	return rclgo.QosProfile{
		History:                      rclgo.HistoryPolicy(p.History),
		Depth:                        p.Depth,
		Reliability:                  rclgo.ReliabilityPolicy(p.Reliability),
		Durability:                   rclgo.DurabilityPolicy(p.Durability),
		Deadline:                     p.Deadline,
		Lifespan:                     p.Lifespan,
		Liveliness:                   rclgo.LivelinessPolicy(p.Liveliness),
		LivelinessLeaseDuration:      p.LivelinessLeaseDuration,
		AvoidRosNamespaceConventions: p.AvoidROSNamespaceConventions,
	}
}
