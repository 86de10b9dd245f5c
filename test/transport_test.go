//go:build ros

package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTransportLoss stops the whole recorder for a while. What its publisher overwrites meanwhile, or the transport drops,
// never reaches it: lost in transport, with exit code 0, and every message is either in the bag or counted.
func TestTransportLoss(t *testing.T) {
	for _, reliability := range []string{"reliable", "best_effort"} {
		t.Run(reliability, func(t *testing.T) {
			const early, missed = 50, 100
			w := newWorld(t)
			bag := w.path("bag")
			peer := w.control(t)
			peer.advertise(t, chatterTopic, stringType, fields{"reliability": reliability, "depth": 1})
			recorder := w.record(t, bag, chatterTopic)
			recorder.waitLine(t, "Subscribed to topic '/chatter'", startDeadline)
			say := func(text string, subscriptions int) {
				peer.publish(t, chatterTopic, stringMessage(text), subscriptions)
			}
			// A publisher of best effort may know its subscription before it is known there. Who joins late loses nothing:
			// what counts begins with the first one that is received.
			for number := range early {
				say(fmt.Sprint(number), 1)
			}
			recorder.signal(t, syscall.SIGSTOP)
			stopped := func() bool { return processState(t, recorder.cmd.Process.Pid) == "T" }
			require.Eventually(t, stopped, stopDeadline, time.Millisecond)
			large := strings.Repeat("x", 100_000) // more than the transport can hold for a while
			for range missed {
				say(large, 0)
			}
			recorder.signal(t, syscall.SIGCONT)
			say("last", 0)
			recorder.waitLine(t, `messages were lost dropped=0 overflowed=0 lost=\d+`, stopDeadline)
			recorder.stop(t, 0)
			requireNoCrash(t, recorder)

			metadata := readMetadata(t, bag).Information
			var lost int
			_, err := fmt.Sscanf(metadata.Custom["rosbagd.lost./chatter"], "dropped=0 overflowed=0 lost=%d", &lost)
			require.NoError(t, err, metadata.Custom)
			require.Positive(t, lost)
			got := texts(t, messagesOf(w.mcapMessages(t, bag)))
			first, err := strconv.Atoi(got[0])
			require.NoError(t, err)
			require.Equal(t, "last", got[len(got)-1])
			require.Equal(t, early-first+missed+1, len(got)+lost, "sent is written and lost")
		})
	}
}

func processState(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func messagesOf(recorded []mcapMessage) []message {
	var found []message
	for _, one := range recorded {
		found = append(found, message{Data: one.Data})
	}
	return found
}

// TestLateJoiner records a publisher that has sent much before: what was before the first message is not lost.
func TestLateJoiner(t *testing.T) {
	for _, reliability := range []string{"reliable", "best_effort"} {
		t.Run(reliability, func(t *testing.T) {
			w := newWorld(t)
			bag := w.path("bag")
			peer := w.control(t)
			peer.advertise(t, chatterTopic, stringType, fields{"reliability": reliability, "depth": 1})
			for range 50 {
				peer.publish(t, chatterTopic, stringMessage("early"), 0)
			}
			recorder := w.record(t, bag, chatterTopic)
			recorder.waitLine(t, "Subscribed to topic '/chatter'", startDeadline)
			for range 10 {
				peer.publish(t, chatterTopic, stringMessage("late"), 1)
			}
			recorder.stop(t, 0)
			requireNoCrash(t, recorder)
			require.Empty(t, readMetadata(t, bag).Information.Custom)
			require.NotEmpty(t, w.mcapMessages(t, bag))
		})
	}
}
