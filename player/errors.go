package player

import "errors"

var (
	// ErrNotPaused is returned for commands that only a paused player obeys.
	ErrNotPaused = errors.New("player is not paused")
	// ErrNotPlaying is returned for commands that need a playback while there is none, or when it ends before they
	// are done.
	ErrNotPlaying = errors.New("player is not playing")
	// ErrPlaying is returned by Play during a playback.
	ErrPlaying = errors.New("player is already playing")
	// ErrEnd is returned by PlayNext when no message is left before the end of the playback.
	ErrEnd = errors.New("no message is left to play")
	// ErrNoClock is returned by SetClockFrequency of a player that was made without a publisher for /clock.
	ErrNoClock = errors.New("player publishes no /clock, which is decided when it starts")
)
