package recorder

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs"
)

// fakeHost keeps the handlers and calls them as a node would.
type fakeHost struct {
	t        *testing.T
	services map[string]msgs.Service
	handlers map[string]func(any, func(any))
}

func (f *fakeHost) Handle(name string, srv msgs.Service, handler func(any, func(any))) error {
	f.services[name], f.handlers[name] = srv, handler
	return nil
}

// call returns a channel that gets each reply.
func (f *fakeHost) call(name string, change ...func(request any)) chan any {
	request := f.services[name].NewRequest()
	for _, c := range change {
		c(request)
	}
	replies := make(chan any, 2)
	f.handlers[name](request, func(response any) { replies <- response })
	return replies
}

func serve(h *harness) *fakeHost {
	f := &fakeHost{t: h.t, services: map[string]msgs.Service{}, handlers: map[string]func(any, func(any)){}}
	require.NoError(h.t, h.Serve(f))
	return f
}

func TestServices(t *testing.T) {
	const later = 1 << 30 // seconds
	done, refused := &msgs.CodeResponse{}, func(code int32, text string) *msgs.CodeResponse {
		return &msgs.CodeResponse{ReturnCode: code, ErrorString: text}
	}
	uri := func(uri string) func(any) { return func(r any) { r.(*msgs.RecordRequest).Uri = uri } }
	for _, recording := range []bool{false, true} {
		for name, c := range map[string]struct {
			service      string
			request      func(any)
			idle, active any
		}{
			"record": {
				"~/record", uri("other"), done, refused(1, "Called record(uri) while already in recording."),
			},
			"record later": {
				"~/record", func(r any) { r.(*msgs.RecordRequest).StartTime.Sec = later },
				refused(1, "Only an immediate recording is possible."), refused(1, "Only an immediate recording is possible."),
			},
			"stop":               {"~/stop", nil, refused(1, "Recorder is already stopped."), done},
			"pause":              {"~/pause", nil, &msgs.Empty{}, &msgs.Empty{}},
			"is_paused":          {"~/is_paused", nil, &msgs.PausedResponse{}, &msgs.PausedResponse{}},
			"resume":             {"~/resume", nil, done, done},
			"resume, past time":  {"~/resume", func(r any) { r.(*msgs.ResumeRequest).ResumeTime.Sec = 1 }, done, done},
			"resume, other mode": {"~/resume", func(r any) { r.(*msgs.ResumeRequest).ResumeMode = 3 }, refused(1, "Unknown resume mode."), refused(1, "Unknown resume mode.")},
			"resume later": {
				"~/resume", func(r any) { r.(*msgs.ResumeRequest).ResumeTime.Sec = later },
				refused(3, "Only an immediate resume is possible."), refused(3, "Only an immediate resume is possible."),
			},
			"split": {
				"~/split_bagfile", nil,
				refused(1, "Called 'SplitBagfile' request while not in recording. Request ignored."), done,
			},
			"split, other mode": {
				"~/split_bagfile", func(r any) { r.(*msgs.SplitBagfileRequest).SplitMode = -1 },
				refused(2, "Unknown split mode."), refused(2, "Unknown split mode."),
			},
			"split later": {
				"~/split_bagfile", func(r any) { r.(*msgs.SplitBagfileRequest).SplitTime.Sec = later },
				refused(1, "Called 'SplitBagfile' request while not in recording. Request ignored."),
				refused(4, "Only an immediate split is possible."),
			},
			"start_discovery": {
				"~/start_discovery", nil, refused(1, "Recorder is not currently recording."),
				refused(1, "Discovery is already running."),
			},
			"stop_discovery":       {"~/stop_discovery", nil, refused(1, "Discovery is not running."), done},
			"is_discovery_running": {"~/is_discovery_running", nil, &msgs.RunningResponse{}, &msgs.RunningResponse{Running: true}},
		} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
					f := serve(h)
					want := c.idle
					if recording {
						h.record()
						want = c.active
					}
					var change []func(any)
					if c.request != nil {
						change = append(change, c.request)
					}
					replies := f.call(c.service, change...)
					synctest.Wait()
					require.Len(t, replies, 1, "one reply")
					require.Equal(t, want, <-replies)
				})
			})
		}
	}
}

func TestServiceSequence(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		f := serve(h)
		h.graph.set("/a", stringType, volatilePublisher(1))
		for n, uri := range []string{"first", "second"} {
			require.Equal(t, &msgs.CodeResponse{}, <-f.call("~/record", func(r any) { r.(*msgs.RecordRequest).Uri = uri }))
			synctest.Wait()
			<-f.call("~/pause")
			require.Equal(t, &msgs.PausedResponse{Paused: true}, <-f.call("~/is_paused"))
			<-f.call("~/resume")
			require.Equal(t, &msgs.PausedResponse{}, <-f.call("~/is_paused"))
			h.sub.give(message(h.sub.ids("/a")[0], 1, uint64(n)))
			require.Equal(t, &msgs.CodeResponse{}, <-f.call("~/stop"))
			require.Equal(t, uri, h.bag().uri)
			require.Len(t, h.bag().allMessages(), 1, "both bags are full")
		}
	})
}

// While a bag waits for a slow disk the handlers return, the quick ones with an answer.
func TestServicesWhileStopping(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		f := serve(h)
		hold := make(chan struct{})
		h.prepare = func(b *fakeBag) { b.hold = hold }
		h.graph.set("/a", stringType, volatilePublisher(1))
		h.record()
		h.sub.give(message(h.sub.ids("/a")[0], 1, 1))
		split, stop := f.call("~/split_bagfile"), f.call("~/stop")
		synctest.Wait()
		require.Empty(t, split)
		require.Empty(t, stop)
		require.Equal(t, &msgs.PausedResponse{}, <-f.call("~/is_paused"))
		var waiting []chan any
		for range maxRequests {
			waiting = append(waiting, f.call("~/stop"))
		}
		require.Equal(t, "Too many requests are waiting.", (<-f.call("~/stop")).(*msgs.CodeResponse).ErrorString)
		close(hold)
		require.Equal(t, &msgs.CodeResponse{}, <-split)
		require.Equal(t, &msgs.CodeResponse{}, <-stop)
		for _, w := range waiting {
			require.EqualValues(t, 1, (<-w).(*msgs.CodeResponse).ReturnCode)
		}
	})
}

func TestFailuresInReplies(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		f := serve(h)
		h.record()
		h.bag().runErr <- errors.New("no space left on device")
		synctest.Wait()
		for service, code := range map[string]int32{"~/split_bagfile": 4, "~/stop": 1} {
			reply := (<-f.call(service)).(*msgs.CodeResponse)
			if service == "~/split_bagfile" && reply.ReturnCode == 1 {
				continue // stop came first
			}
			require.Equal(t, code, reply.ReturnCode)
			require.Equal(t, "write bag bag: no space left on device", reply.ErrorString)
		}
	})
}

func TestRequestsOutsideOfRunAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Filter: Filter{AllTopics: true}})
		f := serve(h)
		early := f.call("~/record")
		synctest.Wait()
		require.Empty(t, early)
		h.run()
		require.Equal(t, &msgs.CodeResponse{}, <-early)
		require.NoError(t, h.shutdown())
	})
}

func TestHostThatRefuses(t *testing.T) {
	r := New(Options{}, Environment{})
	refusal := errors.New("name is taken")
	require.ErrorIs(t, r.Serve(refusingHost{refusal}), refusal)
}

type refusingHost struct{ err error }

func (h refusingHost) Handle(string, msgs.Service, func(any, func(any))) error { return h.err }

func TestImmediate(t *testing.T) {
	at := func(d time.Duration) msgs.Time { return msgs.TimeFromNanos(time.Now().Add(d).UnixNano()) }
	require.True(t, immediate(msgs.Time{}, 2))
	require.True(t, immediate(at(-time.Minute), modeNodeTime))
	require.False(t, immediate(at(time.Minute), modeNodeTime))
	require.False(t, immediate(at(-time.Minute), modeReceiveTime), "a past stamp may still come")
}
