package player

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKeys(t *testing.T) {
	cases := []struct {
		name, input string
		want        []Key
		rest        string
	}{
		{"nothing", "", nil, ""},
		{"space", " ", []Key{KeySpace}, ""},
		{"cursor keys", "\x1b[A\x1b[B\x1b[C\x1b[D", []Key{KeyCursorUp, KeyCursorDown, KeyCursorRight}, ""},
		{"application mode", "\x1bOA\x1bOB\x1bOC", []Key{KeyCursorUp, KeyCursorDown, KeyCursorRight}, ""},
		{"others are nothing", "qA\r\n\x1b[3~\x1b[1;5C\x1b[200~ ", []Key{KeySpace}, ""},
		{"half a sequence", " \x1b[", []Key{KeySpace}, "\x1b["},
		{"the beginning of one", "\x1b", nil, "\x1b"},
		{"half, application mode", "\x1bO", nil, "\x1bO"},
		{"escape and space", "\x1b ", []Key{KeySpace}, ""},
		{"noise has an end", "\x1b[11111111111111111111 ", []Key{KeySpace}, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			keys, rest := ParseKeys([]byte(tc.input))
			require.Equal(t, tc.want, keys)
			require.Equal(t, tc.rest, string(rest))
		})
	}
}

// FuzzParseKeys holds that it does not matter where the reads cut what the terminal sent.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(" \x1b[A\x1bOB\x1b[1;5C\x1b"), uint8(3))
	f.Add([]byte("\x1b[11111111111111111111[A"), uint8(15))
	f.Fuzz(func(t *testing.T, input []byte, cut uint8) {
		whole, rest := ParseKeys(input)
		require.LessOrEqual(t, len(rest), maxSequence)
		at := min(int(cut), len(input))
		first, between := ParseKeys(input[:at:at])
		second, end := ParseKeys(append(between, input[at:]...))
		require.Equal(t, whole, append(first, second...))
		require.Equal(t, string(rest), string(end))
	})
}

type commandLog struct {
	rate float64
	log  []string
}

func (c *commandLog) TogglePaused()                  { c.log = append(c.log, "toggle") }
func (c *commandLog) PlayNext(context.Context) error { c.log = append(c.log, "next"); return ErrEnd }
func (c *commandLog) Rate() float64                  { return c.rate }
func (c *commandLog) SetRate(rate float64) error     { c.rate = rate; return nil }

func TestPress(t *testing.T) {
	c := &commandLog{rate: 1}
	require.NoError(t, Press(t.Context(), c, KeySpace))
	require.ErrorIs(t, Press(t.Context(), c, KeyCursorRight), ErrEnd)
	require.Equal(t, []string{"toggle", "next"}, c.log)
	require.NoError(t, Press(t.Context(), c, KeyCursorUp))
	require.InDelta(t, 1.1, c.rate, 1e-9)
	require.NoError(t, Press(t.Context(), c, KeyCursorDown))
	require.NoError(t, Press(t.Context(), c, KeyCursorDown))
	require.InDelta(t, 0.9, c.rate, 1e-9)
	for range 9 {
		require.NoError(t, Press(t.Context(), c, KeyCursorDown))
	}
	require.Zero(t, c.rate)
}
