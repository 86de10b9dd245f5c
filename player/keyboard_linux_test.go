package player

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// openTerminal gives both ends of a pseudo terminal.
func openTerminal(t *testing.T) (person, terminal *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return person, terminal
}

func settings(t *testing.T, terminal *os.File) unix.Termios {
	t.Helper()
	termios, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *termios
}

// signallingCommands tells each command.
type signallingCommands struct{ did chan string }

func (c signallingCommands) TogglePaused()                  { c.did <- "toggle" }
func (c signallingCommands) PlayNext(context.Context) error { c.did <- "next"; return nil }
func (c signallingCommands) Rate() float64                  { return 1 }
func (c signallingCommands) SetRate(rate float64) error     { c.did <- number(rate); return nil }

func TestKeyboardObeysAndLeavesTheTerminalAsItWas(t *testing.T) {
	person, terminal := openTerminal(t)
	before := settings(t, terminal)
	ready := make(chan struct{})
	log := zap.New(announced{zapcore.NewNopCore(), ready})
	commands := signallingCommands{make(chan string, 10)}
	k := NewKeyboard(terminal, commands, log)
	k.foreground = func(int) bool { return true }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	<-ready
	during := settings(t, terminal)
	require.Zero(t, during.Lflag&(unix.ICANON|unix.ECHO))
	require.NotZero(t, during.Lflag&unix.ISIG, "Ctrl+C still works")
	require.Equal(t, before.Oflag, during.Oflag, "output is as it was")

	_, err := person.WriteString(" x\x1b[C\x1b[")
	require.NoError(t, err)
	require.Equal(t, "toggle", <-commands.did)
	require.Equal(t, "next", <-commands.did)
	_, err = person.WriteString("A")
	require.NoError(t, err)
	require.Equal(t, "1.1", <-commands.did)

	cancel()
	require.NoError(t, <-done)
	require.Equal(t, before, settings(t, terminal))
}

// announced closes ready with the first line that says which keys there are.
type announced struct {
	zapcore.Core
	ready chan struct{}
}

func (announced) Enabled(zapcore.Level) bool { return true }

func (a announced) Check(entry zapcore.Entry, _ *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Message == "Adding keyboard callbacks." {
		close(a.ready)
	}
	return nil
}

func TestKeyboardEndsWithTheTerminal(t *testing.T) {
	person, terminal := openTerminal(t)
	k := NewKeyboard(terminal, signallingCommands{}, nil)
	k.foreground = func(int) bool { return true }
	done := make(chan error, 1)
	go func() { done <- k.Run(t.Context()) }()
	require.NoError(t, person.Close())
	require.NoError(t, <-done)
}

func TestKeyboardKeepsItsHandsOff(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer func() { _ = null.Close() }()
	closed, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	piped, writer, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = piped.Close(), writer.Close() }()
	_, err = writer.WriteString(" ")
	require.NoError(t, err)
	person, foreign := openTerminal(t) // not the controlling terminal of this process
	before := settings(t, foreign)
	_, err = person.WriteString(" \n")
	require.NoError(t, err)

	for name, input := range map[string]*os.File{"null": null, "closed": closed, "pipe": piped, "not ours": foreign} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, NewKeyboard(input, signallingCommands{}, nil).Run(t.Context()))
		})
	}
	require.Equal(t, before, settings(t, foreign))
	var text [8]byte
	n, err := piped.Read(text[:])
	require.NoError(t, err)
	require.Equal(t, " ", string(text[:n]), "nothing was read")
}
