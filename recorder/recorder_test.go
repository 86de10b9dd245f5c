package recorder

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"rosbagd/msgs"
	"rosbagd/node"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

const stringType = "std_msgs/msg/String"

// recordingTopic is a harness that records topic "/a" of publisher 1, and the subscription's id.
func recordA(t *testing.T, opts Options) *harness {
	opts.Filter.AllTopics = true
	h := newHarness(t, opts)
	h.graph.set("/a", stringType, volatilePublisher(1))
	h.run()
	require.NoError(t, h.Record("bag"))
	synctest.Wait()
	require.Len(t, h.sub.ids("/a"), 1)
	return h
}

func TestMessagesReachTheBag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 7), message(id, 1, 1<<40+3))
		h.sub.give(message(id, 2, 1))
		require.NoError(t, h.shutdown())

		bag := h.bag()
		require.True(t, bag.sealed)
		require.Equal(t, []storage.Message{
			{Sequence: 7, LogTimeNanos: 7e6, PublishTimeNanos: 7e6 - 5e5, Data: []byte("7")},
			{Sequence: 3, LogTimeNanos: (1<<40 + 3) * 1e6, PublishTimeNanos: (1<<40+3)*1e6 - 5e5, Data: []byte("1099511627779")},
			{Sequence: 1, LogTimeNanos: 1e6, PublishTimeNanos: 1e6 - 5e5, Data: []byte("1")},
		}, bag.messages)
		require.Equal(t, []storage.Topic{{
			Name: "/a", Type: stringType, SerializationFormat: "cdr", TypeHash: stringHash,
			OfferedQoS: bag.topics[0].OfferedQoS, Definition: storage.Definition{Encoding: "ros2msg", Text: "string data\n"},
		}}, bag.topics)
		require.Len(t, bag.topics[0].OfferedQoS, 1)
	})
}

func TestLifeOfARecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{URI: "configured"})
		require.True(t, h.IsRecording())
		require.ErrorIs(t, h.Record("other"), ErrAlreadyRecording)
		require.NoError(t, h.Stop())
		require.False(t, h.IsRecording())
		require.ErrorIs(t, h.Stop(), ErrAlreadyStopped)
		require.NoError(t, h.Record(""))
		require.Equal(t, "configured", h.bag().uri)
		synctest.Wait()
		require.NoError(t, h.shutdown())
		require.ErrorIs(t, h.Record("late"), ErrNotRunning)
		require.ErrorIs(t, h.Stop(), ErrNotRunning)
		require.Equal(t, 2, h.Result().Bags)
		for text, n := range map[string]int{
			"Listening for topics...": 2, "Recording...": 2, "Subscribed to topic '/a'": 2, "Recording stopped": 2,
			"Starting recording to 'configured'": 1,
		} {
			require.Equal(t, n, h.logged(text), text)
		}
	})
}

func TestNameOfTheBag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		h.taken["bag"], h.taken["bag(1)"] = true, true
		h.run()
		require.NoError(t, h.Record("bag"))
		require.Equal(t, "bag(2)", h.bag().uri)
		require.NoError(t, h.Stop())
		require.NoError(t, h.Record(""))
		require.Equal(t, "rosbag2_2000_01_01-00_00_00", h.bag().uri)
		require.NoError(t, h.shutdown())
	})
}

func TestBagThatCanNotBeCreated(t *testing.T) {
	for name, atStart := range map[string]bool{"at start": true, "by command": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Options{RecordAtStart: atStart})
				full := errors.New("no space left")
				h.Recorder.env.Bags = func(string, func(string, string)) (Bag, error) { return nil, full }
				h.run()
				if atStart {
					require.ErrorIs(t, <-h.done, full, "run ends by itself")
					return
				}
				require.ErrorIs(t, h.Record("bag"), full)
				require.False(t, h.IsRecording())
				require.NoError(t, h.shutdown())
			})
		})
	}
}

func TestManyBagsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails when a goroutine is left
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		for n := range uint64(10) {
			require.NoError(t, h.Record("bag"))
			synctest.Wait()
			h.sub.give(message(h.sub.ids("/a")[0], 1, n))
			require.NoError(t, h.Stop())
			require.Empty(t, h.sub.ids("/a"))
			require.Equal(t, []string{string(message(0, 1, n).Data)}, h.bag().payloads("/a"))
			h.taken = map[string]bool{}
		}
		require.NoError(t, h.shutdown())
		require.Equal(t, Result{Bags: 10, Received: 10, Written: 10}, h.Result())
	})
}

func TestMessagesWithoutABag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{})
		id := h.sub.ids("/a")[0]
		require.NoError(t, h.Stop())
		h.sub.give(message(id, 1, 1)) // under way when the subscription ended
		require.NoError(t, h.Record("next"))
		synctest.Wait()
		h.sub.give(message(id, 1, 2))
		require.NoError(t, h.shutdown())
		require.Empty(t, h.bag().allMessages())
		require.Equal(t, Result{Bags: 2}, h.Result())
	})
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := recordA(t, Options{StartPaused: true})
		id := h.sub.ids("/a")[0]
		require.True(t, h.IsPaused())
		// arriving is a message that is received now; it may come out of the middleware later.
		arriving := func(seq uint64) node.Message {
			pass(time.Millisecond)
			m := message(id, 1, seq)
			m.ReceivedNanos = time.Now().UnixNano()
			pass(time.Millisecond)
			return m
		}
		h.sub.give(arriving(1))
		h.Resume()
		before := arriving(2)
		h.Pause()
		within := arriving(3)
		h.sub.give(before, within)
		h.graph.set("/b", stringType, volatilePublisher(2))
		synctest.Wait()
		require.Len(t, h.sub.ids("/b"), 1, "discovery goes on")
		h.Resume()
		h.sub.give(arriving(4))
		require.NoError(t, h.shutdown())
		require.Equal(t, []string{"2", "4"}, h.bag().payloads("/a"))
		require.Equal(t, Result{Bags: 1, Received: 2, Written: 2}, h.Result(), "what comes in a pause is not lost")
	})
}

func TestSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
		require.ErrorIs(t, h.Split(), ErrNotRecording)
		hold := make(chan struct{})
		h.prepare = func(b *fakeBag) { b.hold = hold }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		id := h.sub.ids("/a")[0]
		h.sub.give(message(id, 1, 1))
		h.sub.give(message(id, 1, 2))
		split := make(chan error)
		go func() { split <- h.Split() }()
		synctest.Wait()
		require.Equal(t, "bag/0", h.bag().CurrentFile(), "what was received before comes first")
		close(hold)
		require.NoError(t, <-split)
		require.Len(t, h.bag().allMessages(), 2)
		require.NoError(t, h.shutdown())
		require.Equal(t, []msgs.WriteSplitEvent{
			{ClosedFile: "bag/0", OpenedFile: "bag/1", NodeName: "/recorder"},
			{ClosedFile: "bag/1", OpenedFile: "", NodeName: "/recorder"},
		}, h.events.splits)
	})
}

func TestShutdownWritesWhatIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, RecordAtStart: true, URI: "bag", MaxCacheSize: DefaultMaxCacheSize})
		hold := make(chan struct{})
		h.prepare = func(b *fakeBag) { b.hold = hold }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		for n := range uint64(50) {
			h.sub.give(message(h.sub.ids("/a")[0], 1, n))
		}
		h.end()
		synctest.Wait()
		require.Empty(t, h.done, "a slow disk is waited for")
		require.False(t, h.bag().isSealed())
		close(hold)
		require.NoError(t, h.shutdown())
		require.Len(t, h.bag().allMessages(), 50)
		require.True(t, h.bag().isSealed())
	})
}

// A batch may be gathering in the middleware when the wish to stop comes.
func TestWhatArrivedBeforeStopIsRecorded(t *testing.T) {
	for name, end := range map[string]func(*harness) error{
		"stop":     func(h *harness) error { return h.Stop() },
		"shutdown": func(h *harness) error { return h.shutdown() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := recordA(t, Options{})
				h.sub.arrived = node.NewBatch([]node.Message{message(h.sub.ids("/a")[0], 1, 1)}, 1, nil)
				require.NoError(t, end(h))
				require.Len(t, h.bag().messages, 1)
				if name == "stop" {
					require.NoError(t, h.shutdown())
				}
			})
		})
	}
}

func TestDefaultName(t *testing.T) {
	for _, day := range []int{1, 2, 30} {
		name := DefaultName(time.Date(2026, 11, day, 4, 5, 6, 0, time.Local))
		require.Equal(t, fmt.Sprintf("rosbag2_2026_11_%02d-04_05_06", day), name)
	}
}

func TestTopicsThatNeverCameAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{Topics: []string{"/a", "/typo"}}})
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.run()
		require.NoError(t, h.Record("bag"))
		require.NoError(t, h.shutdown())
		require.Equal(t, 1, h.logs.FilterMessageSnippet("never seen").FilterField(zap.String("topic", "/typo")).Len())
		require.Equal(t, 1, h.logged("never seen"))
	})
}

func TestOverrideThatShutsPublishersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		strict := class{reliable: true}.profile(10)
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}, QoSOverrides: map[string]qos.Profile{"/a": strict}})
		best := volatilePublisher(1)
		best.QoS.Reliability = qos.BestEffort
		h.graph.set("/a", stringType, best)
		h.run()
		require.NoError(t, h.Record("bag"))
		synctest.Wait()
		require.NoError(t, h.shutdown())
		require.Equal(t, 1, h.logged("asks for more than a publisher offers"))
	})
}

func TestTakingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{RecordAtStart: true})
		broken := errors.New("middleware is gone")
		h.Recorder.env.Subscriber = failingTake{h.sub, broken}
		h.run()
		require.ErrorIs(t, <-h.done, broken)
		require.True(t, h.bag().isSealed())
	})
}

type failingTake struct {
	*fakeSubscriber
	err error
}

func (f failingTake) Take(context.Context) (*node.Batch, error) { return nil, f.err }
