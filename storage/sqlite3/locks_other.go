//go:build !linux

package sqlite3

import (
	"errors"
	"os"
)

// Locks that belong to an open file are Linux's. Those of a process would be worse than none: closing any descriptor of
// the file gives them back, SQLite's own with them.

func writeLocked(*os.File, int64, int64) bool { return false }

func lockShared(*os.File, int64, int64) error { return errors.ErrUnsupported }

func unlock(*os.File, int64, int64) error { return errors.ErrUnsupported }
