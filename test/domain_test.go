//go:build ros

package test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// DDS derives its ports from the domain; above 101 they run into the range that the kernel hands out to others.
const (
	firstDomain  = 1
	lastDomain   = 101
	firstPort    = 7400
	portsADomain = 250
)

var errNoDomain = errors.New("every ROS domain is taken")

// takeDomain takes a ROS domain that no other test of this machine holds, and gives it back when the test ends. The
// lock is the kernel's, so a test that is killed holds nothing.
func takeDomain(t *testing.T) int {
	t.Helper()
	directory := filepath.Join(os.TempDir(), fmt.Sprintf("ros-domains-%d", os.Getuid()))
	require.NoError(t, os.MkdirAll(directory, 0o700))
	const count = lastDomain - firstDomain + 1
	for i := range count {
		domain := firstDomain + (os.Getpid()+i)%count // start anywhere: who takes no lock is met less often
		lock, err := os.OpenFile(filepath.Join(directory, fmt.Sprint(domain)), os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && domainIsQuiet(domain) {
			t.Cleanup(func() { _ = lock.Close() })
			return domain
		}
		require.NoError(t, lock.Close())
	}
	require.NoError(t, errNoDomain)
	return 0
}

// domainIsQuiet tells whether nobody listens on the discovery port of the domain.
func domainIsQuiet(domain int) bool {
	port, err := net.ListenUDP("udp4", &net.UDPAddr{Port: firstPort + portsADomain*domain})
	if err != nil {
		return false
	}
	return port.Close() == nil
}
