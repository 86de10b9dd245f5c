package bag_test

import "runtime"

// allocated is how many bytes were allocated until now.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
