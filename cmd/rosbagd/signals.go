package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// graceForRepeats is how long a repeated signal is taken for the same wish: launchers and `timeout` send INT twice
// within milliseconds, and a recording must not be cut off by that.
const graceForRepeats = 2 * time.Second

// signalContext ends with the first INT, TERM, HUP or QUIT (which would print the program's stacks otherwise). A third
// one, or a second one after graceForRepeats, ends the process at once, for users who can not wait for the disk. Signals
// are watched until the process ends, not only until the work does: a repetition that comes while the node is closed must
// not make a failure of a success.
func signalContext(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 4)
	// INT is obeyed even where it was ignored at the start: a shell script does that to what it starts in the background,
	// and ends it with INT all the same. HUP is not: nohup means it.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		first := time.Now()
		cancel()
		for count := 2; ; count++ {
			if sig := <-signals; count >= 3 || time.Since(first) > graceForRepeats {
				hardExit(sig)
			}
		}
	}()
	return ctx, cancel
}

// hardExit dies of the signal, so that the parent sees why.
func hardExit(sig os.Signal) {
	signal.Reset(sig)
	if number, ok := sig.(syscall.Signal); ok && number != syscall.SIGQUIT {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(number) == nil {
			<-time.After(time.Second) // it comes when the kernel finds the time
		}
	}
	os.Exit(exitFailed)
}
