package player

import (
	"bytes"
	"context"
	"math"
)

// Key is a key that means something to a player.
type Key int

// The keys, by rosbag2's names.
const (
	KeySpace Key = iota
	KeyCursorUp
	KeyCursorDown
	KeyCursorRight
)

const escape = 0x1b

// sequences are what terminals send for the keys, in normal and in application mode.
func sequences() map[string]Key {
	return map[string]Key{
		" ":      KeySpace,
		"\x1b[A": KeyCursorUp, "\x1bOA": KeyCursorUp,
		"\x1b[B": KeyCursorDown, "\x1bOB": KeyCursorDown,
		"\x1b[C": KeyCursorRight, "\x1bOC": KeyCursorRight,
	}
}

// ParseKeys finds the keys in what a terminal sent. rest is the beginning of a sequence whose end has not come yet, to
// be put before what comes next; it is at most maxSequence long.
func ParseKeys(input []byte) (keys []Key, rest []byte) {
	known := sequences()
	for len(input) > 0 {
		length, complete := sequenceLength(input)
		if !complete {
			return keys, input
		}
		if key, ok := known[string(input[:length])]; ok {
			keys = append(keys, key)
		}
		input = input[length:]
	}
	return keys, nil
}

// maxSequence is the longest sequence waited for; more is noise.
const maxSequence = 16

// sequenceLength measures the character or control sequence at the beginning of input.
func sequenceLength(input []byte) (length int, complete bool) {
	if input[0] != escape {
		return 1, true
	}
	if len(input) == 1 {
		return 1, false
	}
	switch input[1] {
	case 'O':
		return min(3, len(input)), len(input) >= 3
	case '[':
		body := input[2:min(len(input), maxSequence)]
		end := bytes.IndexFunc(body, func(r rune) bool { return r < 0x20 || r > 0x3f })
		if end >= 0 {
			return 2 + end + 1, true
		}
		return len(body) + 2, len(input) >= maxSequence
	}
	return 1, true
}

// Commands are what keys can do.
type Commands interface {
	TogglePaused()
	PlayNext(ctx context.Context) error
	Rate() float64
	SetRate(rate float64) error
}

// stepped rounds, so that ten steps down from one end at zero, which is refused, and not at something next to it.
func stepped(rate, step float64) float64 { return math.Round((rate+step)*1e6) / 1e6 }

// rateStep is what a cursor key adds to the rate; rosbag2 calls it 10 %.
const rateStep = 0.1

// Press does what a key means. A refusal is returned and changes nothing.
func Press(ctx context.Context, player Commands, key Key) error {
	switch key {
	case KeySpace:
		player.TogglePaused()
	case KeyCursorRight:
		return player.PlayNext(ctx)
	case KeyCursorUp:
		return player.SetRate(stepped(player.Rate(), rateStep))
	case KeyCursorDown:
		return player.SetRate(stepped(player.Rate(), -rateStep))
	}
	return nil
}
