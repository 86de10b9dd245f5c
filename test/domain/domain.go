// Package domain hands out ROS domains to tests, so that those that run at the same time do not see each other.
package domain

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// DDS derives its ports from the domain; above 101 they run into the range that the kernel hands out to others.
const (
	first        = 1
	last         = 101
	firstPort    = 7400
	portsADomain = 250
)

var errNone = errors.New("every ROS domain is taken")

// Take takes a ROS domain that no other test of this machine holds, until release. The lock is the kernel's, so a test
// that is killed holds nothing.
func Take() (id int, release func() error, err error) {
	directory := filepath.Join(os.TempDir(), fmt.Sprintf("ros-domains-%d", os.Getuid()))
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return 0, nil, fmt.Errorf("make directory of locks: %w", err)
	}
	const count = last - first + 1
	for i := range count {
		id := first + (os.Getpid()+i)%count // start anywhere: who takes no lock is met less often
		lock, err := os.OpenFile(filepath.Join(directory, fmt.Sprint(id)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, nil, fmt.Errorf("open lock of a domain: %w", err)
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && quiet(id) {
			return id, lock.Close, nil
		}
		if err := lock.Close(); err != nil {
			return 0, nil, fmt.Errorf("close lock of a domain: %w", err)
		}
	}
	return 0, nil, errNone
}

// Ports are those that DDS may take in a domain: from first up to and without end.
func Ports(id int) (first, end int) {
	first = firstPort + portsADomain*id
	return first, first + portsADomain
}

// quiet tells whether nobody listens on the discovery port of the domain.
func quiet(id int) bool {
	port, err := net.ListenUDP("udp4", &net.UDPAddr{Port: firstPort + portsADomain*id})
	if err != nil {
		return false
	}
	return port.Close() == nil
}
