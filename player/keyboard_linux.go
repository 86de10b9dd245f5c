package player

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Keyboard passes the keys of a terminal on to a player.
type Keyboard struct {
	input  *os.File
	player Commands
	log    *zap.Logger
	// foreground says whether reading the terminal is this process's turn: a background job that reads it, or sets
	// it, is stopped by the system.
	foreground func(fd int) bool
}

// NewKeyboard gives a keyboard that reads input, normally os.Stdin. It looks at nothing before Run.
func NewKeyboard(input *os.File, player Commands, log *zap.Logger) *Keyboard {
	if log == nil {
		log = zap.NewNop()
	}
	return &Keyboard{input: input, player: player, log: log, foreground: inForeground}
}

func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Run obeys keys until the context ends or the terminal goes away, which is no error, and leaves the terminal as it
// was. When the input is not a terminal of this process it reads nothing, sets nothing and returns at once.
func (k *Keyboard) Run(ctx context.Context) error {
	fd := int(k.input.Fd())
	if !term.IsTerminal(fd) || !k.foreground(fd) {
		k.log.Info("Keyboard controls are off: the input is not a terminal of this process")
		return nil
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch keyboard: %w", err)
	}
	defer func() { _ = unix.Close(stop) }()
	stopped := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_, _ = unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	defer func() {
		if !cancel() {
			<-stopped // the descriptor is closed after its last use
		}
	}()

	restore, err := k.readSingleKeys(fd)
	if err != nil {
		return err
	}
	defer restore()
	announceKeys(k.log)
	return k.read(ctx, fd, stop)
}

// readSingleKeys makes the terminal give keys at once and without echo. Unlike raw mode it leaves signals and output
// as they are: Ctrl+C still works and log lines still begin at the left.
func (k *Keyboard) readSingleKeys(fd int) (restore func(), err error) {
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("read terminal settings: %w", err)
	}
	single := *before
	single.Lflag &^= unix.ICANON | unix.ECHO
	single.Cc[unix.VMIN], single.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &single); err != nil {
		return nil, fmt.Errorf("set terminal: %w", err)
	}
	return func() {
		if k.foreground(fd) {
			_ = unix.IoctlSetTermios(fd, unix.TCSETS, before) // a terminal that is gone needs nothing
		}
	}, nil
}

// backgroundPoll is how often, in milliseconds, a background job looks whether it is in the foreground again.
const backgroundPoll = 500

func (k *Keyboard) read(ctx context.Context, fd, stop int) error {
	var input []byte
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(stop), Events: unix.POLLIN}, {Fd: int32(fd), Events: unix.POLLIN}}
		timeout := -1
		if !k.foreground(fd) {
			fds, timeout = fds[:1], backgroundPoll
		}
		_, err := unix.Poll(fds, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("watch keyboard: %w", err)
		case len(fds) == 1 || fds[1].Revents == 0 || !k.foreground(fd):
			continue
		}
		var buffer [64]byte
		n, err := unix.Read(fd, buffer[:])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil || n == 0 {
			return nil // the terminal is gone
		}
		var keys []Key
		keys, input = ParseKeys(append(input, buffer[:n]...))
		for _, key := range keys {
			if err := Press(ctx, k.player, key); err != nil && ctx.Err() == nil {
				k.log.Warn("Key without effect", zap.Error(err))
			}
		}
	}
	return nil
}

// announceKeys says in the log what can be pressed.
func announceKeys(log *zap.Logger) {
	log.Info("Adding keyboard callbacks.")
	log.Info("Press SPACE for Pause/Resume")
	log.Info("Press CURSOR_RIGHT for Play Next Message")
	log.Info("Press CURSOR_UP for Increase Rate 10%")
	log.Info("Press CURSOR_DOWN for Decrease Rate 10%")
}
