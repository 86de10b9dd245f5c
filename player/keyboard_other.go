//go:build !linux

package player

import (
	"context"
	"os"

	"go.uber.org/zap"
)

// Keyboard passes the keys of a terminal on to a player; on this system it does nothing.
type Keyboard struct{ log *zap.Logger }

// NewKeyboard gives a keyboard that reads input, normally os.Stdin.
func NewKeyboard(_ *os.File, _ Commands, log *zap.Logger) *Keyboard {
	if log == nil {
		log = zap.NewNop()
	}
	return &Keyboard{log: log}
}

// Run returns at once.
func (k *Keyboard) Run(context.Context) error {
	k.log.Info("Keyboard controls are off: this system has none")
	return nil
}
