//go:build !linux

package bag

// inBackground runs work; a lower priority for a single thread is Linux's.
func inBackground(work func()) { work() }
