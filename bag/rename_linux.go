package bag

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames, and fails with os.ErrExist when something has the new name. An ordinary rename would take the place
// of an empty directory.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // some file systems can not
		return renameChecked(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
