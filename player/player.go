package player

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"rosbagd/clock"
	"rosbagd/storage"
)

// Player plays one bag.
type Player struct {
	source  Source
	connect Connections
	options Options
	log     *zap.Logger

	known   []storage.TopicInfo // by storage.TopicID
	topics  []storage.TopicID   // that the filter selects
	start   clock.Time          // where playing begins: the start of the bag and the offset
	clock   *clock.Clock
	pacer   *clock.Pacer // nil when /clock has no publisher
	sleeper *clock.Sleeper
	queue   *queue

	published uint64 // messages of this playback, all passes together; belongs to the play loop

	outputs []*output // by storage.TopicID; nil for what is not played. Written before the play loop runs.

	mu       sync.Mutex // guards what follows; nothing blocks under it
	current  *playback  // nil while idle
	priming  bool       // the clock is held until the queue has something
	finished bool       // Run is over or about to be: no playback begins any more
}

// playback is one run over the bag, loops included, from Play to its end. Its fields are guarded by Player.mu.
type playback struct {
	last     clock.Time // the last time that is played
	limited  bool       // last counts
	stopping bool
	steps    []*step  // what PlayNext and Burst wait for, in the order of the calls
	atEnd    []func() // called when it is over

	begun     bool   // a message was taken
	fromStart bool   // the pass began, or went back to, where playing begins
	handled   uint64 // messages taken since then
	hungry    bool   // the play loop waits for a message
	starved   throttle
}

// New checks the options and prepares a player; nothing is started. The playback that begins by itself exists from
// here on, so that commands given before Run are obeyed. It takes two descriptors, which Run gives back.
func New(source Source, connect Connections, options Options) (*Player, error) {
	log := options.Logger
	if log == nil {
		log = zap.NewNop()
	}
	options = options.corrected(log)
	p := &Player{source: source, connect: connect, options: options, log: log, known: source.Topics()}
	if err := p.selectTopics(); err != nil {
		return nil, err
	}
	p.start = source.Start().Add(options.StartOffset)

	clockOptions := []clock.Option{clock.WithPaused(options.StartPaused)}
	if options.Steady != nil {
		clockOptions = append(clockOptions, clock.WithSteady(options.Steady))
	}
	p.clock = clock.New(p.start, clockOptions...)
	p.clock.Hold()
	if err := p.SetRate(options.Rate); err != nil {
		return nil, err
	}
	if connect.Clock != nil {
		pacer, err := clock.NewPacer(p.clock, connect.Clock, clock.PacerOptions{
			Frequency: options.ClockFrequency, Held: true, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		p.pacer = pacer
	}
	// Descriptors are taken last: nothing can fail any more, and Run gives them back.
	p.sleeper = p.clock.NewSleeper()
	p.queue = newQueue(options.ReadAhead, p.sleeper.Wake)
	if options.Mode != Serve {
		p.mu.Lock()
		p.begin(options.Limit)
		p.mu.Unlock()
	}
	return p, nil
}

// selectTopics leaves the bag's own /clock out where it would fight with ours.
func (p *Player) selectTopics() error {
	filter, err := p.options.Filter.compile()
	if err != nil {
		return err
	}
	p.topics = []storage.TopicID{}
	for id, topic := range p.known {
		if topic.Name == "/clock" && p.options.ClockFrequency > 0 && p.connect.Clock != nil {
			continue
		}
		selected, err := filter.selects(topic.Topic)
		if err != nil {
			return err
		}
		if selected {
			p.topics = append(p.topics, storage.TopicID(id))
		}
	}
	return nil
}

// Run plays until the end of the bag (PlayOnce), or until the context ends, which is no error. A player runs once. It
// waits for a read of the bag that is under way.
func (p *Player) Run(ctx context.Context) error {
	defer p.clock.Close()
	defer p.sleeper.Close()
	defer p.finish()
	p.openOutputs(ctx)
	defer p.closeOutputs()

	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader := p.newReadAhead()
	group.Go(func() error { return reader.run(ctx) })
	if p.pacer != nil {
		group.Go(func() error { return p.pacer.Run(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		defer context.AfterFunc(ctx, p.sleeper.Wake)()
		defer clock.LockThread()()
		return p.loop(ctx)
	})
	return group.Wait()
}

// newReadAhead reads only the topics that have a publisher.
func (p *Player) newReadAhead() *readAhead {
	reader := &readAhead{
		source: p.source, queue: p.queue, topics: []storage.TopicID{}, latched: []storage.TopicID{},
		order: p.options.Order, events: p.connect.Events, log: p.log,
	}
	for _, id := range p.topics {
		if out := p.outputs[id]; out != nil {
			reader.topics = append(reader.topics, id)
			if out.latched {
				reader.latched = append(reader.latched, id)
			}
		}
	}
	return reader
}

// loop goes from playback to playback.
func (p *Player) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		playing := p.current
		p.mu.Unlock()
		if playing == nil {
			p.sleeper.Park()
			continue
		}
		p.published = 0
		err := p.play(ctx, playing)
		p.log.Info("Playback is over", zap.Uint64("messages", p.published))
		p.end(playing)
		if p.options.Mode == PlayOnce {
			if err == nil && ctx.Err() == nil {
				p.deliver(ctx)
			}
			return err
		}
		if err != nil {
			p.log.Error("Failed to play: " + err.Error())
		}
	}
	return nil
}

// begin makes a playback and lets reading start. It needs mu.
func (p *Player) begin(limit Limit) {
	last, limited := limit.until(p.start)
	p.current = &playback{last: last, limited: limited, starved: throttle{every: time.Second}}
	p.turn(p.start)
}

// turn makes playing go on from another place. It needs mu. The clock stands there until the queue has been filled, so
// that the first messages come neither late nor all at once.
func (p *Player) turn(from clock.Time) {
	playing := p.current
	playing.fromStart, playing.handled, playing.hungry = from == p.start, 0, false
	p.priming = true
	p.clock.Hold()
	p.queue.turn(passage{
		from: from, until: playing.last, limited: playing.limited,
		empty:   playing.limited && (playing.last == 0 || playing.last < from),
		latched: p.latchedBefore(playing, from),
	})
	p.clock.Jump(from) // wakes the play loop too
}

// latchedBefore says up to where latched messages come first when playing goes on from another place. It needs mu.
func (p *Player) latchedBefore(playing *playback, from clock.Time) clock.Time {
	before := from
	switch {
	case p.options.Latched == LatchedOff || p.options.Latched == LatchedStart && playing.begun:
		return 0
	case p.options.Latched == LatchedStart:
		before = p.start // whatever was sought before the first message
	}
	if before <= p.source.Start() {
		return 0
	}
	return before
}

// end tells everybody who waits that a playback is over.
func (p *Player) end(playing *playback) {
	if p.pacer != nil {
		p.pacer.Hold()
	}
	p.mu.Lock()
	p.current = nil
	p.clock.Hold()
	if p.options.Mode == PlayOnce {
		p.finished = true
	}
	steps, atEnd := playing.steps, playing.atEnd
	playing.steps, playing.atEnd = nil, nil
	p.mu.Unlock()
	for _, s := range steps {
		if s.done() {
			s.finish(s.sent, nil)
		} else {
			s.finish(s.sent, ErrNotPlaying)
		}
	}
	for _, done := range atEnd {
		done()
	}
}

// finish lets nobody wait for a player that is over.
func (p *Player) finish() {
	p.mu.Lock()
	p.finished = true
	playing := p.current
	p.mu.Unlock()
	if playing != nil {
		p.end(playing)
	}
}

// ClockFrequency is the frequency of the periodic /clock in Hz, 0 for off.
func (p *Player) ClockFrequency() float64 {
	if p.pacer == nil {
		return 0
	}
	return p.pacer.Frequency()
}

// SetClockFrequency changes the frequency of the periodic /clock; 0 stops it. Without a publisher for /clock it returns
// ErrNoClock.
func (p *Player) SetClockFrequency(hertz float64) error {
	if p.pacer == nil {
		return ErrNoClock
	}
	if err := p.pacer.SetFrequency(hertz); err != nil {
		return err
	}
	p.options.Changed()
	return nil
}

// Now is the current time of the playback.
func (p *Player) Now() clock.Time { return p.clock.Now() }

// Start is where playing begins: the start of the bag and the offset.
func (p *Player) Start() clock.Time { return p.start }

// farAway is a timeout for sleeping that is not meant to end by it.
const farAway = 24 * time.Hour
