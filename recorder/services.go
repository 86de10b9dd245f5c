package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rosbagd/msgs"
)

// maxRequests bounds the slow requests that wait; beyond it a request is refused at once.
const maxRequests = 16

// Return codes of the services. The meaning of 1 depends on the service.
const (
	codeDone                = 0
	codeRefused             = 1 // Record, Stop, StartDiscovery, StopDiscovery
	resumeInvalidMode       = 1
	resumeFailed            = 3
	splitNotRecording       = 1
	splitInvalidMode        = 2
	splitFailed             = 4
	modeNodeTime      int32 = 0
	modeReceiveTime   int32 = 2
)

// Serve offers the recorder's services. Call it before Run of the host; requests that come before Run of the Recorder
// wait for it.
func (r *Recorder) Serve(host ServiceHost) error {
	for _, s := range []struct {
		name    string
		service msgs.Service
		handle  func(request any, reply func(response any))
	}{
		{"~/record", msgs.Record(), r.slow(r.serveRecord)},
		{"~/stop", msgs.Stop(), r.slow(func(any) error { return r.Stop() })},
		{"~/start_discovery", msgs.StartDiscovery(), instantly(func(any) any { return code(r.StartDiscovery()) })},
		{"~/stop_discovery", msgs.StopDiscovery(), instantly(func(any) any { return code(r.StopDiscovery()) })},
		{"~/is_discovery_running", msgs.IsDiscoveryRunning(), instantly(func(any) any {
			return &msgs.RunningResponse{Running: r.IsDiscoveryRunning()}
		})},
		{"~/pause", msgs.Pause(), instantly(func(any) any { r.Pause(); return &msgs.Empty{} })},
		{"~/resume", msgs.Resume(), instantly(func(request any) any { return r.serveResume(request.(*msgs.ResumeRequest)) })},
		{"~/is_paused", msgs.IsPaused(), instantly(func(any) any { return &msgs.PausedResponse{Paused: r.IsPaused()} })},
		{"~/split_bagfile", msgs.SplitBagfile(), r.serveSplit},
	} {
		if err := host.Handle(s.name, s.service, s.handle); err != nil {
			return fmt.Errorf("offer service %s: %w", s.name, err)
		}
	}
	return nil
}

const tooManyRequests = "Too many requests are waiting."

// instantly answers on the goroutine of the caller: for what never waits.
func instantly(answer func(request any) any) func(any, func(any)) {
	return func(request any, reply func(any)) { reply(answer(request)) }
}

// slow answers from the goroutine of Run, in the order of the requests.
func (r *Recorder) slow(answer func(request any) error) func(any, func(any)) {
	return func(request any, reply func(any)) {
		if !r.enqueue(func() {
			answered := code(answer(request))
			if answered.ReturnCode != codeDone {
				r.log.Warn("Request refused: " + answered.ErrorString)
			}
			reply(answered)
		}) {
			reply(&msgs.CodeResponse{ReturnCode: codeRefused, ErrorString: tooManyRequests})
		}
	}
}

// enqueue leaves a request to work; false when too many are waiting.
func (r *Recorder) enqueue(request func()) bool {
	select {
	case r.requests <- request:
		return true
	default:
		return false
	}
}

// work answers slow requests until ctx ends; those that still wait then are answered too.
func (r *Recorder) work(ctx context.Context) error {
	for {
		select {
		case request := <-r.requests:
			request()
		case <-ctx.Done():
			for {
				select {
				case request := <-r.requests:
					request()
				default:
					return nil
				}
			}
		}
	}
}

var errRecordLater = errors.New("recording at a later time is not possible")

func (r *Recorder) serveRecord(request any) error {
	record := request.(*msgs.RecordRequest)
	if record.StartTime.Nanos() > time.Now().UnixNano() {
		return errRecordLater
	}
	return r.Record(record.Uri)
}

func (r *Recorder) serveResume(request *msgs.ResumeRequest) *msgs.CodeResponse {
	if request.ResumeMode < modeNodeTime || request.ResumeMode > modeReceiveTime {
		return &msgs.CodeResponse{ReturnCode: resumeInvalidMode, ErrorString: "Unknown resume mode."}
	}
	if !immediate(request.ResumeTime, request.ResumeMode) {
		return &msgs.CodeResponse{ReturnCode: resumeFailed, ErrorString: "Only an immediate resume is possible."}
	}
	r.Resume()
	return &msgs.CodeResponse{}
}

func (r *Recorder) serveSplit(request any, reply func(any)) {
	split := request.(*msgs.SplitBagfileRequest)
	if split.SplitMode < modeNodeTime || split.SplitMode > modeReceiveTime {
		reply(&msgs.CodeResponse{ReturnCode: splitInvalidMode, ErrorString: "Unknown split mode."})
		return
	}
	if r.IsRecording() && !immediate(split.SplitTime, split.SplitMode) {
		reply(&msgs.CodeResponse{ReturnCode: splitFailed, ErrorString: "Only an immediate split is possible."})
		return
	}
	answer := func(err error) {
		switch {
		case err == nil:
			reply(&msgs.CodeResponse{})
		case errors.Is(err, ErrNotRecording):
			reply(&msgs.CodeResponse{
				ReturnCode:  splitNotRecording,
				ErrorString: "Called 'SplitBagfile' request while not in recording. Request ignored.",
			})
		default:
			reply(&msgs.CodeResponse{ReturnCode: splitFailed, ErrorString: err.Error()})
		}
	}
	if !r.enqueue(func() { r.requestSplit(answer) }) {
		reply(&msgs.CodeResponse{ReturnCode: splitFailed, ErrorString: tooManyRequests})
	}
}

// immediate says whether a time means now: it is zero, or past by the node's clock.
func immediate(t msgs.Time, mode int32) bool {
	return t == msgs.Time{} || mode == modeNodeTime && t.Nanos() <= time.Now().UnixNano()
}

// code puts the result of a command into the words that clients of rosbag2 know.
func code(err error) *msgs.CodeResponse {
	if err == nil {
		return &msgs.CodeResponse{ReturnCode: codeDone}
	}
	text := err.Error()
	for _, known := range [...]struct {
		err  error
		text string
	}{
		{ErrAlreadyRecording, "Called record(uri) while already in recording."},
		{ErrNotRecording, "Recorder is not currently recording."},
		{errRecordLater, "Only an immediate recording is possible."},
		{ErrAlreadyStopped, "Recorder is already stopped."},
		{ErrDiscoveryRunning, "Discovery is already running."},
		{ErrDiscoveryStopped, "Discovery is not running."},
	} {
		if errors.Is(err, known.err) {
			text = known.text
		}
	}
	return &msgs.CodeResponse{ReturnCode: codeRefused, ErrorString: text}
}
