package recorder

import "golang.org/x/sys/unix"

func statFile(path string) (fileID, uint32, error) {
	var found unix.Stat_t
	if err := unix.Stat(path, &found); err != nil {
		return fileID{}, 0, err
	}
	device := uint64(found.Dev)
	return fileID{unix.Major(device), unix.Minor(device), found.Ino}, found.Uid, nil
}
