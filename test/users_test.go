//go:build ros

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nobody is who the processes of another user run as.
const nobody = "65534"

// asNobody is the command that runs a program as another user.
func asNobody(program string, arguments ...string) (string, []string) {
	return "setpriv", append([]string{"--reuid", nobody, "--regid", nobody, "--clear-groups", program}, arguments...)
}

// requireOtherUser leaves the test out where it can show nothing: only root can start processes of two users.
func requireOtherUser(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs two users: run it as root, `sudo -E make test-ros PACKAGES=./test TESTFLAGS='-run AnotherUser'`")
	}
	command, arguments := asNobody(program(), "--help")
	if output, err := exec.Command(command, arguments...).CombinedOutput(); err != nil {
		t.Skipf("needs a tree and a ROS 2 that other users can read: %v: %s", err, output)
	}
}

// openToAll makes a world whose directories another user can write.
func openToAll(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for _, directory := range []string{filepath.Dir(w.directory), w.directory, w.path("ros-log")} {
		require.NoError(t, os.Chmod(directory, 0o777))
	}
	return w
}

// TestLogDirectoryOfAnotherUser is the one that a `sudo` has left: one line instead of a crash.
func TestLogDirectoryOfAnotherUser(t *testing.T) {
	requireOtherUser(t)
	w := openToAll(t)
	require.NoError(t, os.Chmod(w.path("ros-log"), 0o755))
	command, arguments := asNobody(program(), "record", "-a", "-o", w.path("bag"))
	p := w.launch(t, noInput, command, arguments...)
	p.requireExit(t, 1, startDeadline)
	requireNoCrash(t, p)
	require.Contains(t, p.text(stderr), "write to "+w.path("ros-log")+": permission denied; set ROS_LOG_DIR")
	require.NoDirExists(t, w.path("bag"))
}

// silenceDeadline is for the recorder to notice that nothing comes.
const silenceDeadline = 30 * time.Second

// TestPublisherOfAnotherUser has publishers that are matched and of which no message comes, since users do not share
// memory: the recorder says so. One that is merely idle is nothing to speak of.
func TestPublisherOfAnotherUser(t *testing.T) {
	requireOtherUser(t)
	load := tool(t, "load")

	t.Run("while we are root", func(t *testing.T) {
		t.Parallel()
		w := openToAll(t)
		own := w.control(t)
		own.advertise(t, "/idle", stringType, nil)
		command, arguments := asNobody(load, "pub", "--rate", "100", "--count", "1000000", "--mark", "1000")
		other := w.launch(t, noInput, command, arguments...)
		recorder := w.record(t, w.path("bag"), "--topics", "/load/t0", "/idle")
		other.waitLine(t, "^mark$", silenceDeadline) // it was matched, or it would not have sent; 10 s are over
		own.publish(t, "/idle", stringMessage("heard"), 1)
		other.stop(t, 0)
		recorder.stop(t, 0)
		counts := w.requireExactMetadata(t, w.path("bag"))
		require.Equal(t, 1, counts["/idle"])
		warned := recorder.text(stderr)
		require.NotContains(t, warned, "topic=/idle")
		if counts["/load/t0"] > 0 {
			// From Kilted on, a publisher that may not write to our shared memory takes another way.
			require.NotContains(t, warned, "nothing of a publisher can be recorded")
			return
		}
		require.Regexp(t, `WARN.* run both as one user topic=/load/t0 pid=\d+ process=load user=\w+ own_user=root\n`, warned)
	})

	t.Run("while root publishes", func(t *testing.T) {
		t.Parallel()
		w := openToAll(t)
		other := w.control(t)
		other.advertise(t, chatterTopic, stringType, nil)
		command, arguments := asNobody(program(), "record", "-o", w.path("bag"), chatterTopic)
		recorder := w.launch(t, noInput, command, arguments...)
		recorder.waitLine(t, "Subscribed to topic '/chatter'", startDeadline)
		other.publish(t, chatterTopic, stringMessage("unheard"), 1)
		line := recorder.waitLine(t, "nothing of a publisher can be recorded", silenceDeadline)
		require.Regexp(t, `WARN.* topic=/chatter pid=\d+ process=python\S* user=root own_user=\w+$`, line)
		other.publish(t, chatterTopic, stringMessage("unheard"), 1)
		recorder.stop(t, 0)
		require.Empty(t, w.requireExactMetadata(t, w.path("bag")))
	})
}
