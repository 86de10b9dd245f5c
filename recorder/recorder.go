package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"rosbagd/bag"
	"rosbagd/msgs"
)

var (
	// ErrNotRunning is returned for commands outside of Run.
	ErrNotRunning = errors.New("recorder is not running")
	// ErrAlreadyRecording is returned by Record between Record and Stop.
	ErrAlreadyRecording = errors.New("already recording")
	// ErrNotRecording is returned for what needs a bag when there is none.
	ErrNotRecording = errors.New("not recording")
	// ErrAlreadyStopped is returned by Stop when there is no bag to end.
	ErrAlreadyStopped = errors.New("recorder is already stopped")
	// ErrDiscoveryRunning is returned by StartDiscovery when it would do nothing.
	ErrDiscoveryRunning = errors.New("discovery is already running")
	// ErrDiscoveryStopped is returned by StopDiscovery when it would do nothing.
	ErrDiscoveryStopped = errors.New("discovery is not running")
)

// maxRenames bounds the search for a free name of a bag.
const maxRenames = 10000

// Recorder records one bag at a time. Its methods may be called from any goroutine.
type Recorder struct {
	opts Options
	env  Environment
	log  *zap.Logger

	paused  pauses
	current atomic.Pointer[recording] // nil while idle

	// commands orders what changes between idle and recording. It is held for as long as a bag takes to be sealed.
	commands sync.Mutex
	life     *lifetime // guarded by commands; nil outside of Run

	requests chan func() // slow service requests, for the goroutine of Run that works on them

	resultMu sync.Mutex
	result   Result       // guarded by resultMu
	last     []TopicStats // guarded by resultMu: of the bag that ended last
}

// lifetime is what exists during one Run only.
type lifetime struct {
	ctx     context.Context // ends after the last bag is sealed
	group   *errgroup.Group
	failure chan error // takes the first failure of a bag
	sweeps  *sweeps
	sim     *simTime // nil without UseSimTime
}

// New makes a Recorder; nothing happens before Run.
func New(opts Options, env Environment) *Recorder {
	if env.Logger == nil {
		env.Logger = zap.NewNop()
	}
	return &Recorder{opts: opts.withDefaults(), env: env, log: env.Logger, requests: make(chan func(), maxRequests)}
}

// Run takes messages and works on requests until ctx ends, then ends the current bag in order. It returns nil after a
// shutdown that was asked for, and the reason when the middleware failed, when recording at start did, or, with
// EndOnFailure, when a bag failed.
func (r *Recorder) Run(ctx context.Context) error {
	kept, end := context.WithCancel(context.WithoutCancel(ctx)) // a shutdown must not cut off what it needs to finish
	defer end()
	group, kept := errgroup.WithContext(kept)
	life := &lifetime{ctx: kept, group: group, failure: make(chan error, 1), sweeps: newSweeps(r.env.Subscriber)}
	if r.opts.UseSimTime {
		sim, err := followClock(r.env.Subscriber, r.opts.QoSOverrides)
		if err != nil {
			return err
		}
		life.sim = sim
	}
	taking, stopTaking := context.WithCancel(kept)
	defer stopTaking()
	takeDone := life.sweeps.ended
	var takeErr error
	group.Go(func() error {
		defer close(takeDone)
		takeErr = r.take(taking, life)
		return nil
	})
	r.commands.Lock()
	r.life = life
	r.commands.Unlock()
	group.Go(func() error { return r.work(kept) }) // requests that came early find a recorder that runs

	var err error
	if r.opts.RecordAtStart {
		err = r.record(ctx, "")
	} else {
		r.log.Info("Waiting for ~/record.")
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-life.failure:
		case <-takeDone:
		}
	}
	r.commands.Lock()
	if r.current.Load() != nil {
		// What failed is logged and in the result; with EndOnFailure it waits in life.failure.
		_ = r.stopCurrent()
	}
	r.life = nil
	r.commands.Unlock()
	stopTaking()
	<-takeDone
	err = errors.Join(err, life.sim.end())
	end()
	if groupErr := group.Wait(); groupErr != nil {
		err = errors.Join(err, groupErr)
	}
	select {
	case failure := <-life.failure: // a bag that failed in its last moments
		err = errors.Join(err, failure)
	default:
	}
	return errors.Join(err, takeErr)
}

// take hands batches to the current bag. It never waits for the disk.
func (r *Recorder) take(ctx context.Context, life *lifetime) error {
	for ; ; life.sweeps.count() {
		batch, err := r.env.Subscriber.Take(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("take messages: %w", err)
		}
		if batch == nil {
			continue
		}
		life.sim.follow(batch)
		rec := r.current.Load()
		if rec == nil {
			batch.Release()
			continue
		}
		rec.accept(batch, r.paused.history.Load())
	}
}

// Record begins a bag at uri, or at the configured place when uri is empty. When something is there already, uri(1),
// uri(2) and so on are tried. It returns when the topics that were asked for by name and have publishers are subscribed.
func (r *Recorder) Record(uri string) error { return r.record(context.Background(), uri) }

func (r *Recorder) record(ctx context.Context, uri string) error {
	r.commands.Lock()
	defer r.commands.Unlock()
	if r.life == nil {
		return ErrNotRunning
	}
	if r.current.Load() != nil {
		return ErrAlreadyRecording
	}
	made, uri, err := r.create(uri)
	if err != nil {
		return err
	}
	life := r.life
	rec := newRecording(uri, made, life, r.opts, r.env)
	rec.ended = func(lastFile string) { r.splitEvent(lastFile, "") }
	rec.failed = func(err error) {
		if r.opts.EndOnFailure {
			select {
			case life.failure <- err:
			default: // one failure is enough to end Run
			}
		}
	}
	watching, endWatch := context.WithCancel(life.ctx)
	rec.endWatch = endWatch
	r.paused.reset(r.opts.StartPaused)
	r.current.Store(rec)
	life.group.Go(func() error { return rec.run(life.ctx) })
	life.group.Go(func() error { return rec.watch(watching) })
	r.log.Info("Starting recording to '" + uri + "'")
	r.log.Info("Listening for topics...")
	if life.sim.started() {
		rec.begin(ctx)
	} else {
		r.log.Info("use_sim_time set, waiting for /clock before starting recording...")
	}
	r.log.Info("Recording...")
	if r.opts.StartPaused {
		r.log.Info("Waiting paused, nothing is written before ~/resume.")
	}
	close(rec.begun)
	return nil
}

// DefaultName is the name of a bag for which none is given: rosbag2_ and the local time.
func DefaultName(now time.Time) string {
	return "rosbag2_" + now.Format("2006_01_02-15_04_05") // apart: the 2 of rosbag2 is a day to Format
}

// create makes the bag at the first free name.
func (r *Recorder) create(uri string) (Bag, string, error) {
	if uri == "" {
		uri = r.opts.URI
	}
	if uri == "" {
		uri = DefaultName(time.Now())
	}
	name := uri
	for n := 1; ; n++ {
		made, err := r.env.Bags(name, r.splitEvent)
		if err == nil {
			return made, name, nil
		}
		if !errors.Is(err, bag.ErrExists) || n > maxRenames {
			return nil, "", err
		}
		next := fmt.Sprintf("%s(%d)", uri, n)
		r.log.Warn("bag directory exists already, trying another name", zap.String("bag", name), zap.String("next", next))
		name = next
	}
}

func (r *Recorder) splitEvent(closed, opened string) {
	if r.env.Events == nil {
		return
	}
	event := msgs.WriteSplitEvent{ClosedFile: closed, OpenedFile: opened, NodeName: r.opts.NodeName}
	if err := r.env.Events.WriteSplit(event); err != nil {
		r.log.Warn("split event was not published", zap.Error(err))
	}
}

// Stop ends the current bag: it returns when all that was received is in it and it is sealed. It returns the reason
// when the bag has failed; the recorder is idle in any case.
func (r *Recorder) Stop() error {
	r.commands.Lock()
	defer r.commands.Unlock()
	if r.life == nil {
		return ErrNotRunning
	}
	if r.current.Load() == nil {
		return ErrAlreadyStopped
	}
	return r.stopCurrent()
}

// stopCurrent needs commands and a current bag.
func (r *Recorder) stopCurrent() error {
	rec := r.current.Load()
	rec.sweeps.finish()
	rec.stop()
	stats := rec.table.stats()
	r.resultMu.Lock()
	r.result.Bags++
	if rec.err() != nil {
		r.result.Failed++
	}
	r.result.add(stats)
	r.last = stats
	r.current.Store(nil)
	r.resultMu.Unlock()
	r.log.Info("Recording stopped")
	return rec.err()
}

// Pause drops what comes from now on; subscriptions and discovery go on.
func (r *Recorder) Pause() {
	r.paused.set(time.Now().UnixNano(), true)
	r.log.Info("Pausing recording.")
}

// Resume ends a pause.
func (r *Recorder) Resume() {
	r.paused.set(time.Now().UnixNano(), false)
	r.log.Info("Resuming recording.")
}

// IsPaused tells the state of pause.
func (r *Recorder) IsPaused() bool { return r.paused.now() }

// IsRecording says whether there is a bag, paused and failed ones included.
func (r *Recorder) IsRecording() bool { return r.current.Load() != nil }

// Split closes the current file, with all that was received before, and goes on in the next one.
func (r *Recorder) Split() error {
	result := make(chan error, 1)
	r.requestSplit(func(err error) { result <- err })
	return <-result
}

// requestSplit waits until what was received before is on its way, but not for the new file: done is called once, from
// the writing goroutine or right away.
func (r *Recorder) requestSplit(done func(error)) {
	rec := r.current.Load()
	if rec == nil {
		done(ErrNotRecording)
		return
	}
	rec.sweeps.finish()
	rec.split(done)
}

// StartDiscovery looks for new topics again.
func (r *Recorder) StartDiscovery() error {
	rec := r.current.Load()
	if rec == nil {
		return ErrNotRecording
	}
	if !rec.search.start() {
		return ErrDiscoveryRunning
	}
	r.log.Info("Topics discovery started.")
	return nil
}

// StopDiscovery looks for no more new topics. Subscriptions stay and still follow the offers of their publishers.
func (r *Recorder) StopDiscovery() error {
	rec := r.current.Load()
	if rec == nil || !rec.search.searching.Swap(false) {
		return ErrDiscoveryStopped
	}
	r.log.Info("Topics discovery stopped.")
	return nil
}

// IsDiscoveryRunning says whether new topics are looked for.
func (r *Recorder) IsDiscoveryRunning() bool {
	rec := r.current.Load()
	return rec != nil && rec.search.searching.Load()
}

// Stats counts per topic of the current bag, or of the last one while idle.
func (r *Recorder) Stats() []TopicStats {
	r.resultMu.Lock()
	defer r.resultMu.Unlock()
	if rec := r.current.Load(); rec != nil {
		return rec.table.stats()
	}
	return append([]TopicStats(nil), r.last...)
}

// Result sums up the bags that have ended.
func (r *Recorder) Result() Result {
	r.resultMu.Lock()
	defer r.resultMu.Unlock()
	return r.result
}
