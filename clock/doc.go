// Package clock is the time of a playback: a clock that can be paused, slowed, sped up and moved, and that knows how
// long to sleep on the steady clock until a recorded instant comes.
//
// The clock keeps one pair of matching instants, ROS time and steady time, and a rate:
//
//	now = reference ROS time + rate x (steady now - reference steady time)
//
// Each command that changes the flow of time (pause, rate, jump, hold) takes a new pair first and then makes the
// sleepers look again. Invariant: without a Jump, Now never goes back, under any order of commands.
//
// Life cycle: New starts nothing; Close wakes all sleepers for good and gives their descriptors back. A Sleeper is one
// goroutine's own place to sleep, with a wake-up that is not lost when nobody sleeps yet. A Pacer publishes the time at
// a frequency of wall time, in its own Run.
package clock
