//go:build unix

package sqlite3

import (
	"io/fs"
	"syscall"
)

// inode tells which file it is that has a name; 0 and 0 where that is not known.
func inode(info fs.FileInfo) (device, number uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(stat.Dev), stat.Ino
}
