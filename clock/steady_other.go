//go:build !linux

package clock

import "runtime"

// SystemSteady is the most precise steady clock of this system: here the one on Go's timers.
func SystemSteady() Steady { return TimerSteady() }

// LockThread binds the calling goroutine to its thread, until the function it returns is called by the same goroutine.
func LockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
