// Package qos is the quality of service of a topic as bags and override files keep it, in plain Go: the same words
// and numbers as the ROS middleware interface (rmw), without ROS.
//
// Invariant: reading what bags say is lenient, so that no bag is unreadable because of it; reading what users write is strict.
//
// Life cycle: none; all are values and functions.
package qos
