package msgs

import "time"

// Time is builtin_interfaces/msg/Time.
type Time struct {
	Sec     int32
	Nanosec uint32
}

// TimeFromNanos converts nanoseconds since the epoch.
func TimeFromNanos(nanos int64) Time {
	sec, nsec := nanos/int64(time.Second), nanos%int64(time.Second)
	if nsec < 0 {
		sec, nsec = sec-1, nsec+int64(time.Second)
	}
	return Time{Sec: int32(sec), Nanosec: uint32(nsec)}
}

// Nanos is t in nanoseconds since the epoch.
func (t Time) Nanos() int64 { return int64(t.Sec)*int64(time.Second) + int64(t.Nanosec) }

// Duration is builtin_interfaces/msg/Duration.
type Duration struct {
	Sec     int32
	Nanosec uint32
}

// Std is d as a Go duration.
func (d Duration) Std() time.Duration {
	return time.Duration(d.Sec)*time.Second + time.Duration(d.Nanosec)
}

// Clock is rosgraph_msgs/msg/Clock.
type Clock struct{ Clock Time }

// ReadSplitEvent is rosbag2_interfaces/msg/ReadSplitEvent; NodeName from Jazzy on.
type ReadSplitEvent struct{ ClosedFile, OpenedFile, NodeName string }

// WriteSplitEvent is rosbag2_interfaces/msg/WriteSplitEvent; NodeName from Jazzy on.
type WriteSplitEvent struct{ ClosedFile, OpenedFile, NodeName string }
