package bag

import (
	"fmt"
	"os"
)

// renameChecked leaves an instant between the look and the rename, for where there is nothing better.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("rename to %s: %w", to, os.ErrExist)
	}
	return os.Rename(from, to)
}
