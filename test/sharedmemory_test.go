//go:build ros

package test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"rosbagd/test/domain"
)

const (
	sharedMemoryRoot = "/dev/shm"
	portPrefix       = "fastrtps_port"
)

// sharedMemoryOf lists the files of Fast DDS that a process has mapped: its own segment, and those of its peers.
func sharedMemoryOf(pid int) []string {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil // it is gone, and has cleaned up itself
	}
	defer maps.Close()
	seen := map[string]bool{}
	var names []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		_, name, found := strings.Cut(lines.Text(), sharedMemoryRoot+"/")
		if found && strings.HasPrefix(name, "fastrtps_") && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// removeSegments removes what a killed process has left of the segments that it had mapped. Fast DDS keeps a lock on
// <segment>_el as long as its owner lives; what can be locked is dead, as for `fastdds shm clean`.
func removeSegments(names []string) {
	for _, name := range names {
		if !strings.HasPrefix(name, portPrefix) && isDead(filepath.Join(sharedMemoryRoot, name+"_el")) {
			removeSharedMemory(name)
		}
	}
}

// removePorts removes the ports of a domain that nobody is in any more. The ports from 7000 on are shared by all domains
// of the machine and used again by whoever comes next: they are let alone.
func removePorts(id int) {
	first, end := domain.Ports(id)
	for port := first; port < end; port++ {
		removeSharedMemory(portPrefix + strconv.Itoa(port))
	}
}

func removeSharedMemory(name string) {
	for _, left := range []string{name, name + "_el", "sem." + name + "_mutex"} {
		_ = os.Remove(filepath.Join(sharedMemoryRoot, left)) // most do not exist
	}
}

func isDead(lock string) bool {
	file, err := os.Open(lock)
	if err != nil {
		return false
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
