package qos

import (
	"math"
	"time"
)

// Infinite is the duration that the middleware calls infinite: {9223372036 s, 854775807 ns}. Zero is "unspecified".
const Infinite = time.Duration(math.MaxInt64)

// History says how many samples are kept; the numbers are those of rmw.
type History uint8

// Reliability says whether lost samples are sent again; the numbers are those of rmw.
type Reliability uint8

// Durability says whether a late joiner gets earlier samples; the numbers are those of rmw.
type Durability uint8

// Liveliness says how a publisher shows that it is alive; the numbers are those of rmw.
type Liveliness uint8

// The values of rmw_qos_history_policy_e.
const (
	HistorySystemDefault History = iota
	KeepLast
	KeepAll
	HistoryUnknown
)

// The values of rmw_qos_reliability_policy_e.
const (
	ReliabilitySystemDefault Reliability = iota
	Reliable
	BestEffort
	ReliabilityUnknown
	ReliabilityBestAvailable
)

// The values of rmw_qos_durability_policy_e.
const (
	DurabilitySystemDefault Durability = iota
	TransientLocal
	Volatile
	DurabilityUnknown
	DurabilityBestAvailable
)

// The values of rmw_qos_liveliness_policy_e (2, manual by node, is no longer used).
const (
	LivelinessSystemDefault Liveliness = iota
	Automatic
	ManualByNode
	ManualByTopic
	LivelinessUnknown
	LivelinessBestAvailable
)

// Profile is one quality-of-service profile.
type Profile struct {
	History                      History
	Depth                        int // samples; 0 is unknown
	Reliability                  Reliability
	Durability                   Durability
	Deadline                     time.Duration // Infinite or 0 (unspecified) where there is none
	Lifespan                     time.Duration
	Liveliness                   Liveliness
	LivelinessLeaseDuration      time.Duration
	AvoidROSNamespaceConventions bool
}

// Default is the profile of rmw_qos_profile_default: keep last 10, reliable, volatile.
func Default() Profile {
	return Profile{History: KeepLast, Depth: 10, Reliability: Reliable, Durability: Volatile}
}
