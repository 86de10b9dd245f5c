//go:build !linux

package bag

// renameNew renames, and fails with os.ErrExist when something has the new name.
func renameNew(from, to string) error { return renameChecked(from, to) }
