//go:build linux || darwin

package bag

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The locks end with the process, however it ends.
func lockShared(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

func lockExclusive(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func freeBytes(directory string) (int64, bool) {
	var stat unix.Statfs_t
	if unix.Statfs(directory, &stat) != nil {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true
}

func diskBytes(directory string) (int64, bool) {
	var stat unix.Statfs_t
	if unix.Statfs(directory, &stat) != nil {
		return 0, false
	}
	return int64(stat.Blocks) * int64(stat.Bsize), true
}

func ownedByUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
