package player

import (
	"errors"
	"fmt"

	"rosbagd/clock"
	"rosbagd/msgs"
)

// Return codes of the newer Resume service, the only ones a player gives.
const (
	resumeDone             = 0
	resumeInvalidMode      = 1
	resumeInvalidTopic     = 2
	resumeFailed           = 3
	stopFailed             = 1
	resumeModeNodeTime     = 0
	refusedResumeMode      = "the player can be resumed by node time only"
	refusedTrackingTopic   = "the player can not follow a topic to resume"
	refusedResumeTime      = "the player can be resumed at once only"
	warnNextNotPaused      = "Called play next, but not in paused state."
	warnNextNotPlaying     = "Called play next, but player is not playing."
	warnBurstNotPaused     = "Burst can only be used when in the paused state."
	warnBurstNotPlaying    = "Called burst, but player is not playing."
	warnSeekNotPlaying     = "Called seek, but player is not playing."
	warnPlayWhilePlaying   = "Trying to play() while in playback, dismissing request."
	warnPlayWhileFinishing = "Trying to play() while the player ends, dismissing request."
)

// service is one row of what the player offers. The handler answers at once, or from the play loop.
type service struct {
	name    string
	service msgs.Service
	handle  func(request any, reply func(response any))
}

func (p *Player) services() []service {
	return []service{
		{"~/pause", msgs.Pause(), now(func(*msgs.Empty) any { p.Pause(); return &msgs.Empty{} })},
		{"~/resume", msgs.Resume(), now(p.answerResume)},
		{"~/toggle_paused", msgs.TogglePaused(), now(func(*msgs.Empty) any { p.TogglePaused(); return &msgs.Empty{} })},
		{"~/is_paused", msgs.IsPaused(), now(func(*msgs.Empty) any { return &msgs.PausedResponse{Paused: p.IsPaused()} })},
		{"~/get_rate", msgs.GetRate(), now(func(*msgs.Empty) any { return &msgs.RateResponse{Rate: p.Rate()} })},
		{"~/set_rate", msgs.SetRate(), now(p.answerSetRate)},
		{"~/seek", msgs.Seek(), now(p.answerSeek)},
		{"~/play_next", msgs.PlayNext(), p.answerPlayNext},
		{"~/burst", msgs.Burst(), p.answerBurst},
		{"~/play", msgs.Play(), now(p.answerPlay)},
		{"~/stop", msgs.Stop(), p.answerStop},
	}
}

// Serve offers the services of a player. It is called before the host begins to serve, and before Run.
func (p *Player) Serve(host ServiceHost) error {
	for _, s := range p.services() {
		if err := host.Handle(s.name, s.service, s.handle); err != nil {
			return fmt.Errorf("offer service %s: %w", s.name, err)
		}
	}
	return nil
}

// now makes a handler of a function that answers at once.
func now[Request any](answer func(*Request) any) func(any, func(any)) {
	return func(request any, reply func(any)) {
		typed, ok := request.(*Request)
		if !ok {
			typed = new(Request)
		}
		reply(answer(typed))
	}
}

func (p *Player) answerResume(request *msgs.ResumeRequest) any {
	switch {
	case request.ResumeMode != resumeModeNodeTime:
		return &msgs.CodeResponse{ReturnCode: resumeInvalidMode, ErrorString: refusedResumeMode}
	case request.TrackingTopicName != "":
		return &msgs.CodeResponse{ReturnCode: resumeInvalidTopic, ErrorString: refusedTrackingTopic}
	case request.ResumeTime != msgs.Time{}:
		return &msgs.CodeResponse{ReturnCode: resumeFailed, ErrorString: refusedResumeTime}
	}
	p.Resume()
	return &msgs.CodeResponse{ReturnCode: resumeDone}
}

func (p *Player) answerSetRate(request *msgs.SetRateRequest) any {
	err := p.SetRate(request.Rate)
	if err != nil {
		p.log.Warn("Failed to set rate to invalid value " + number(request.Rate))
	}
	return &msgs.SuccessResponse{Success: err == nil}
}

// answerSeek says success always: so does every rosbag2.
func (p *Player) answerSeek(request *msgs.SeekRequest) any {
	if err := p.Seek(clock.Time(request.Time.Nanos())); err != nil {
		p.log.Warn(warnSeekNotPlaying)
	}
	return &msgs.SuccessResponse{Success: true}
}

func (p *Player) answerPlayNext(_ any, reply func(any)) {
	finish := func(_ uint64, err error) {
		p.warnRefused(err, warnNextNotPaused, warnNextNotPlaying)
		reply(&msgs.SuccessResponse{Success: err == nil})
	}
	if err := p.playNext(&step{wanted: 1, finish: finish}); err != nil {
		finish(0, err)
	}
}

func (p *Player) answerBurst(request any, reply func(any)) {
	var wanted uint64
	if typed, ok := request.(*msgs.BurstRequest); ok {
		wanted = typed.NumMessages
	}
	finish := func(sent uint64, err error) {
		p.warnRefused(err, warnBurstNotPaused, warnBurstNotPlaying)
		reply(&msgs.BurstResponse{ActuallyBurst: sent})
	}
	if err := p.burst(&step{wanted: wanted, finish: finish}); err != nil {
		finish(0, err)
	}
}

func (p *Player) warnRefused(err error, notPaused, notPlaying string) {
	switch {
	case errors.Is(err, ErrNotPaused):
		p.log.Warn(notPaused)
	case errors.Is(err, ErrNotPlaying):
		p.log.Warn(notPlaying)
	}
}

// answerPlay leaves the start offset of the request out, as rosbag2 does: where a playback begins was settled when the
// player was made.
func (p *Player) answerPlay(request *msgs.PlayRequest) any {
	err := p.Play(limitOf(*request))
	switch {
	case errors.Is(err, ErrPlaying):
		p.log.Warn(warnPlayWhilePlaying)
	case err != nil:
		p.log.Warn(warnPlayWhileFinishing)
	}
	return &msgs.SuccessResponse{Success: err == nil}
}

// limitOf reads negative seconds as "no limit"; all zero is a duration of nothing.
func limitOf(request msgs.PlayRequest) Limit {
	var limit Limit
	if duration := request.PlaybackDuration; duration.Sec >= 0 {
		limit.Duration, limit.HasDuration = duration.Std(), true
	}
	if until := request.PlaybackUntilTimestamp; until.Sec >= 0 {
		limit.Until, limit.HasUntil = clock.Time(until.Nanos()), true
	}
	return limit
}

// answerStop answers when the playback is over. The answer has fields in the newer interface only.
func (p *Player) answerStop(_ any, reply func(any)) {
	if err := p.stop(func() { reply(&msgs.CodeResponse{}) }); err != nil {
		reply(&msgs.CodeResponse{ReturnCode: stopFailed, ErrorString: err.Error()})
	}
}
