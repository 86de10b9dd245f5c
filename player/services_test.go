package player

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/clock"
	"rosbagd/msgs"
)

// call asks a service and gives the answer, nil when there is none yet.
func (s *stage) call(name string, request any) any {
	s.t.Helper()
	handler := s.handlers["~/"+name]
	require.NotNil(s.t, handler, name)
	var answers []any
	handler(request, func(response any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answers = append(answers, response)
	})
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.LessOrEqual(s.t, len(answers), 1, "answered twice")
	if len(answers) == 0 {
		return nil
	}
	return answers[0]
}

func TestServices(t *testing.T) {
	yes, no := &msgs.SuccessResponse{Success: true}, &msgs.SuccessResponse{}
	all := msgs.PlayRequest{PlaybackDuration: msgs.Duration{Sec: -1}, PlaybackUntilTimestamp: msgs.Time{Sec: -1}}
	steps := []struct {
		service string
		request any
		want    any
		log     string
	}{
		{"is_paused", &msgs.Empty{}, &msgs.PausedResponse{}, ""},
		{"play_next", &msgs.Empty{}, no, "Called play next, but not in paused state."},
		{"burst", &msgs.BurstRequest{NumMessages: 2}, &msgs.BurstResponse{}, "Burst can only be used when in the paused state."},
		{"pause", &msgs.Empty{}, &msgs.Empty{}, "Pausing play."},
		{"is_paused", &msgs.Empty{}, &msgs.PausedResponse{Paused: true}, ""},
		{"play_next", &msgs.Empty{}, no, "Called play next, but player is not playing."},
		{"burst", &msgs.BurstRequest{}, &msgs.BurstResponse{}, "Called burst, but player is not playing."},
		{"seek", &msgs.SeekRequest{}, yes, "Called seek, but player is not playing."},
		{"stop", &msgs.Empty{}, &msgs.CodeResponse{ReturnCode: 1, ErrorString: "stop: player is not playing"}, ""},
		{"set_rate", &msgs.SetRateRequest{Rate: 1.25}, yes, "Set rate to 1.25"},
		{"set_rate", &msgs.SetRateRequest{}, no, "Failed to set rate to invalid value 0"},
		{"set_rate", &msgs.SetRateRequest{Rate: math.Inf(1)}, no, "Failed to set rate to invalid value +Inf"},
		{"get_rate", &msgs.Empty{}, &msgs.RateResponse{Rate: 1.25}, ""},
		{"play", &all, yes, "Playback until timestamp: -1"},
		{"play", &all, no, "Trying to play() while in playback, dismissing request."},
		{"play_next", &msgs.Empty{}, yes, "Playing next message."},
		{"burst", &msgs.BurstRequest{NumMessages: 2}, &msgs.BurstResponse{ActuallyBurst: 2}, "Burst 2 messages."},
		{"seek", &msgs.SeekRequest{Time: msgs.TimeFromNanos(int64(bagStart) + 1)}, yes, ""},
		{"burst", &msgs.BurstRequest{}, &msgs.BurstResponse{ActuallyBurst: 4}, "Burst 0 messages."},
		{"play_next", &msgs.Empty{}, no, ""},
		{"stop", &msgs.Empty{}, &msgs.CodeResponse{}, "Stopping playback."},
		{"play", &msgs.PlayRequest{}, yes, "Playback until timestamp: 0"},
		{"seek", &msgs.SeekRequest{Time: msgs.Time{Sec: -1}}, yes, ""},
		{"resume", &msgs.ResumeRequest{ResumeMode: 2}, &msgs.CodeResponse{ReturnCode: 1, ErrorString: refusedResumeMode}, ""},
		{"resume", &msgs.ResumeRequest{TrackingTopicName: "/a"}, &msgs.CodeResponse{ReturnCode: 2, ErrorString: refusedTrackingTopic}, ""},
		{"resume", &msgs.ResumeRequest{ResumeTime: msgs.Time{Sec: 1}}, &msgs.CodeResponse{ReturnCode: 3, ErrorString: refusedResumeTime}, ""},
		{"is_paused", &msgs.Empty{}, &msgs.PausedResponse{Paused: true}, ""},
		{"resume", &msgs.ResumeRequest{}, &msgs.CodeResponse{}, "Resuming play."},
		{"toggle_paused", &msgs.Empty{}, &msgs.Empty{}, "Pausing play."},
	}
	synctest.Test(t, func(t *testing.T) {
		s := raise(t, evenBag(5, 100*ms), Options{Mode: Serve})
		require.Len(t, s.handlers, 11)
		for i, step := range steps {
			s.logs.TakeAll()
			require.Equal(t, step.want, s.call(step.service, step.request), "step %d, %s", i, step.service)
			if step.log != "" {
				require.Equal(t, 1, s.logged(step.log), "step %d, %s: %v", i, step.service, s.logs.All())
			}
		}
		s.quit()
	})
}

func TestServicesAnswerWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bag := evenBag(5, 100*ms)
		bag.gate = make(chan struct{})
		s := raise(t, bag, Options{StartPaused: true})
		require.Nil(t, s.call("play_next", &msgs.Empty{}), "waits for its message")
		require.Equal(t, &msgs.PausedResponse{Paused: true}, s.call("is_paused", &msgs.Empty{}))
		require.Equal(t, &msgs.SuccessResponse{Success: true}, s.call("seek", &msgs.SeekRequest{}))
		require.Equal(t, &msgs.CodeResponse{}, s.call("stop", &msgs.Empty{}))
		close(bag.gate)
		require.NoError(t, s.over())
	})
}

func TestLimitOfARequest(t *testing.T) {
	second, never := msgs.Duration{Sec: 1}, msgs.Duration{Sec: -1}
	at, none := msgs.Time{Sec: 5}, msgs.Time{Sec: -1}
	for _, tc := range []struct {
		request msgs.PlayRequest
		want    Limit
	}{
		{msgs.PlayRequest{}, Limit{HasDuration: true, HasUntil: true}},
		{msgs.PlayRequest{PlaybackDuration: never, PlaybackUntilTimestamp: none}, Limit{}},
		{msgs.PlayRequest{PlaybackDuration: second, PlaybackUntilTimestamp: none}, Limit{HasDuration: true, Duration: time.Second}},
		{msgs.PlayRequest{PlaybackDuration: never, PlaybackUntilTimestamp: at}, Limit{HasUntil: true, Until: clock.Time(5 * time.Second)}},
	} {
		require.Equal(t, tc.want, limitOf(tc.request))
	}
}
