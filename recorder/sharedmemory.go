package recorder

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"rosbagd/node"
)

// sharedMemory tells which processes of this machine exchange messages through shared memory, and whose they are. A
// process keeps a lock on a file beside each of its segments while it lives; the kernel lists the locks for everybody.
type sharedMemory struct {
	locks    string // /proc/locks
	segments string // /dev/shm
	stat     func(path string) (file fileID, uid uint32, err error)
}

// fileID is how the kernel names the file of a lock: device and inode.
type fileID struct {
	major, minor uint32
	inode        uint64
}

func systemSharedMemory() sharedMemory {
	return sharedMemory{locks: "/proc/locks", segments: "/dev/shm", stat: statFile}
}

// owner is the user of a process that has segments.
type owner struct {
	uid uint32
	// detours says that its middleware takes another way where it may not write to somebody's memory: Fast DDS from its
	// third version on, which has another name for its files.
	detours bool
}

// keeps says whether a publisher of o keeps its messages from a subscription of ours. Where o goes no other way, any other
// user does; else only root, who may write to all memory while others may not read root's.
func (o owner) keeps(ours owner) bool {
	return o.uid != ours.uid && (!o.detours || o.uid == 0)
}

// owners are those of the processes that have segments, by process id. It is empty where nothing can be found out.
func (m sharedMemory) owners() map[int]owner {
	users := map[fileID]owner{}
	for _, kind := range []struct {
		pattern string
		detours bool
	}{{"fastrtps_*_el", false}, {"fastdds_*_el", true}} {
		names, _ := filepath.Glob(filepath.Join(m.segments, kind.pattern)) // the pattern is well formed
		for _, name := range names {
			if file, uid, err := m.stat(name); err == nil { // it may just have gone
				users[file] = owner{uid, kind.detours}
			}
		}
	}
	found := map[int]owner{}
	text, err := os.ReadFile(m.locks)
	if err != nil {
		return found // no evidence, no warning
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if pid, file, ok := parseLock(lines.Text()); ok {
			if of, known := users[file]; known {
				found[pid] = of
			}
		}
	}
	return found
}

// parseLock reads a line of /proc/locks: "8: FLOCK  ADVISORY  WRITE 6098 00:1b:83960 0 EOF". Those who wait for a lock
// have an arrow there.
func parseLock(line string) (pid int, file fileID, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "FLOCK" {
		return 0, fileID{}, false
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil || pid <= 0 {
		return 0, fileID{}, false // a process that our container can not see
	}
	if _, err := fmt.Sscanf(fields[5], "%x:%x:%d", &file.major, &file.minor, &file.inode); err != nil {
		return 0, fileID{}, false
	}
	return pid, file, true
}

// Fast DDS begins a GID with its vendor and two bytes for the host, then half of the process id.
const (
	hostSize  = 4
	processAt = hostSize
)

func hostOf(gid node.GID) [hostSize]byte { return [hostSize]byte(gid[:hostSize]) }

func processOf(gid node.GID) uint16 { return binary.LittleEndian.Uint16(gid[processAt:]) }

func processBits(pid int) uint16 { return uint16(pid) }

// foreignOwner is the process behind a GID when it has shared memory, as we have, and keeps its messages from us. Where
// half a process id fits another process too that does not, nothing is claimed.
func foreignOwner(owners map[int]owner, self int, gid node.GID) (pid int, uid uint32, found bool) {
	ours, usesMemory := owners[self]
	if !usesMemory {
		return 0, 0, false
	}
	for other, of := range owners {
		if processBits(other) != processOf(gid) {
			continue
		}
		if !of.keeps(ours) {
			return 0, 0, false
		}
		pid, uid, found = other, of.uid, true
	}
	return pid, uid, found
}

// remedy is what a user can do. On localhost only, the middleware is told to use shared memory in any case.
func remedy() string {
	switch {
	case os.Getenv("ROS_LOCALHOST_ONLY") == "1", os.Getenv("ROS_AUTOMATIC_DISCOVERY_RANGE") == "LOCALHOST":
		return "run both as one user"
	default:
		return "run both as one user or one of them with FASTDDS_BUILTIN_TRANSPORTS=UDPv4"
	}
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username
	}
	return id
}

// processName is what the kernel calls a process, cut to 15 bytes; empty when it has gone.
func processName(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
