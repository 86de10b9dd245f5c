package bag

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// Run keeps the promises about age and finishes files after Split, until ctx ends or Seal is called. It returns the
// failure of the Writer, if there is one. It is called at most once; after Seal there is nothing left to do.
func (w *Writer) Run(ctx context.Context) error {
	w.mu.Lock()
	if w.sealed {
		defer w.mu.Unlock()
		return w.failed
	}
	w.running.Add(1)
	w.ran = true
	w.mu.Unlock()
	defer w.running.Done()

	group, ctx := errgroup.WithContext(ctx)
	// A tick each quarter of an age, and work when half of it is over: nothing gets older than three quarters.
	group.Go(func() error { return w.every(ctx, w.options.FlushAge/4, w.flushAged) })
	// What is synced was flushed before, so only the rest of its age is left.
	group.Go(func() error {
		return w.every(ctx, max(w.options.SyncAge-w.options.FlushAge, w.options.SyncAge/4)/2, w.sync)
	})
	group.Go(func() error { return w.sealQueued(ctx) })
	for range w.compressionThreads() {
		group.Go(func() error { return w.compressQueued(ctx) })
	}
	group.Go(func() error { return w.every(ctx, stallAge/looksInAge, w.watchStall()) })
	return group.Wait()
}

// stallAge is how long a write may take before it is reported (a write goes to memory and takes microseconds), and
// looksInAge how often it is looked at until then.
const (
	stallAge   = 2 * time.Second
	looksInAge = 4
)

// watched does what may wait for the disk, under the eyes of watchStall. It costs no look at the clock. It is called
// with mu held.
func (w *Writer) watched(work func() error) error {
	w.steps.Add(1)
	defer w.steps.Add(1)
	return work()
}

// watchStall reports a disk that takes nothing, while it does: the write itself can only tell afterwards. It looks
// looksInAge times within stallAge whether the same write is still under way.
func (w *Writer) watchStall() func() error {
	var (
		seen     uint64
		since    time.Time
		reported bool
	)
	return func() error {
		now, steps := time.Now(), w.steps.Load()
		switch {
		case steps != seen || steps%2 == 0:
			if reported {
				w.log.Info("disk takes data again", zap.String("bag", w.path),
					zap.Duration("after", now.Sub(since).Round(time.Millisecond)))
			}
			seen, since, reported = steps, now, false
		case !reported && now.Sub(since) >= stallAge:
			reported = true
			w.log.Warn("disk takes no data, messages wait in the cache", zap.String("bag", w.path),
				zap.Duration("for", now.Sub(since).Round(time.Millisecond)))
		}
		return nil
	}
}

func (w *Writer) every(ctx context.Context, interval time.Duration, work func() error) error {
	ticker := time.NewTicker(max(interval, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.stop:
			return nil
		case <-ticker.C:
			if err := work(); err != nil {
				return err
			}
		}
	}
}

func (w *Writer) flushAged() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if w.unflushed.IsZero() || time.Since(w.unflushed) < w.options.FlushAge/2 {
		return nil
	}
	w.unflushed = time.Time{}
	w.unsynced = true
	if err := w.watched(w.current.writer.Flush); err != nil {
		return w.fail(err)
	}
	return nil
}

// sync waits for the disk without holding anything that Write or a flush needs.
func (w *Writer) sync() error {
	w.mu.Lock()
	name, writer, due, failed := w.current.name, w.current.writer, w.unsynced, w.failed
	w.unsynced = false
	w.mu.Unlock()
	if failed != nil || !due {
		return failed
	}
	began := time.Now()
	if err := errors.Join(w.checkFile(name), writer.Sync()); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.fail(err)
	}
	if took := time.Since(began); took > w.options.SyncAge/2 {
		w.log.Warn("disk is slow to sync", zap.String("bag", w.path), zap.Duration("took", took))
	}
	return nil
}

func (w *Writer) position(p *part) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Index(w.files, p)
}
