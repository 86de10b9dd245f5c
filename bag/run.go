package bag

import (
	"context"
	"errors"
	"path/filepath"
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
	w.mu.Unlock()
	defer w.running.Done()

	group, ctx := errgroup.WithContext(ctx)
	// A tick each quarter of an age, and work when half of it is over: nothing gets older than three quarters.
	group.Go(func() error { return w.every(ctx, w.options.FlushAge/4, w.flushAged) })
	// What is synced was flushed before, so only the rest of its age is left.
	group.Go(func() error {
		return w.every(ctx, max(w.options.SyncAge-w.options.FlushAge, w.options.SyncAge/4)/2, w.sync)
	})
	group.Go(func() error { return w.closeQueued(ctx) })
	group.Go(func() error { return w.every(ctx, stallAge/4, w.watchStall()) })
	return group.Wait()
}

// stallAge is how long a write may take before it is reported; a write goes to memory and takes microseconds.
const stallAge = 2 * time.Second

// watched does what may wait for the disk, under the eyes of watchStall. It is called with mu held.
func (w *Writer) watched(work func() error) error {
	w.busySince.Store(time.Now().UnixNano())
	defer w.busySince.Store(0)
	return work()
}

// watchStall reports a disk that takes nothing, while it does: the write itself can only tell afterwards.
func (w *Writer) watchStall() func() error {
	var reported int64
	return func() error {
		since := w.busySince.Load()
		switch {
		case since != 0 && since != reported && time.Since(time.Unix(0, since)) >= stallAge:
			reported = since
			w.log.Warn("disk takes no data, messages wait in the cache", zap.String("bag", w.directory),
				zap.Duration("for", time.Since(time.Unix(0, since)).Round(time.Millisecond)))
		case reported != 0 && since != reported:
			w.log.Info("disk takes data again", zap.String("bag", w.directory),
				zap.Duration("after", time.Since(time.Unix(0, reported)).Round(time.Millisecond)))
			reported = 0
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
		w.log.Warn("disk is slow to sync", zap.String("bag", w.directory), zap.Duration("took", took))
	}
	return nil
}

// closeQueued finishes files as they come. When it is told to end, what is left is for Seal.
func (w *Writer) closeQueued(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.stop:
			return nil
		case <-w.queued:
			if err := w.drainClosing(); err != nil {
				return err
			}
		}
	}
}

func (w *Writer) drainClosing() error {
	for {
		w.mu.Lock()
		if len(w.closing) == 0 {
			w.mu.Unlock()
			return nil
		}
		p := w.closing[0]
		w.closing = w.closing[1:]
		w.mu.Unlock()
		if err := w.finishPart(p); err != nil {
			return err
		}
	}
}

// finishPart seals a file and rewrites metadata.yaml with the files up to it, so that after a sudden end only the
// newest file is not in it.
func (w *Writer) finishPart(p *part) error {
	began := time.Now()
	w.mu.Lock()
	metadata := w.metadata(slices.Index(w.files, p) + 1)
	w.mu.Unlock()
	inner, err := metadata.EncodeInnerVersion(w.options.MetadataVersion)
	if err == nil {
		err = p.writer.Seal(inner)
	}
	if err != nil {
		err = errors.Join(err, p.writer.Close())
	}
	if err == nil {
		err = w.writeClosedMetadata(p)
	}
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.info = p.writer.Info() // what the file still has
		return w.fail(err)
	}
	w.log.Info("bag file finished", zap.String("file", filepath.Join(w.directory, p.name)),
		zap.Uint64("messages", p.info.MessageCount), zap.Duration("took", time.Since(began)))
	if w.options.OnSplit != nil && p.opened != "" {
		w.options.OnSplit(filepath.Join(w.directory, p.name), filepath.Join(w.directory, p.opened))
	}
	return nil
}

// writeClosedMetadata names the files up to p. Topic counts are summed over these files alone, so that the file agrees
// with itself.
func (w *Writer) writeClosedMetadata(p *part) error {
	w.metadataMu.Lock()
	defer w.metadataMu.Unlock()
	w.mu.Lock()
	n := slices.Index(w.files, p) + 1
	metadata := w.metadata(n)
	for i := range metadata.Topics {
		metadata.Topics[i].MessageCount = 0
	}
	for _, file := range w.files[:n] {
		for i, topic := range file.info.Topics {
			metadata.Topics[i].MessageCount += topic.MessageCount
		}
	}
	w.mu.Unlock()
	return w.writeMetadata(metadata)
}

func (w *Writer) writeMetadata(metadata Metadata) error {
	data, err := metadata.EncodeVersion(w.options.MetadataVersion)
	if err != nil {
		return err
	}
	return writeFile(w.root, MetadataName, data)
}

// Seal ends Run, finishes all files and writes metadata.yaml last. After a failure it still closes everything and
// writes the metadata of what the files have, and returns the failure. A second call returns ErrSealed.
func (w *Writer) Seal() error {
	w.mu.Lock()
	if w.sealed {
		w.mu.Unlock()
		return ErrSealed
	}
	w.sealed = true
	w.retire(w.current)
	failed := w.failed
	w.mu.Unlock()
	close(w.stop)
	w.running.Wait()

	errs := []error{}
	for {
		w.mu.Lock()
		empty := len(w.closing) == 0
		w.mu.Unlock()
		if empty {
			break
		}
		errs = append(errs, w.drainClosing())
	}
	if failed != nil {
		errs = append(errs, w.current.writer.Close())
		w.refresh()
	} else {
		errs = append(errs, w.sealCurrent())
	}
	w.metadataMu.Lock()
	defer w.metadataMu.Unlock()
	errs = append(errs, w.writeMetadata(w.Metadata()), w.root.Close())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	return errors.Join(errs...)
}

// sealCurrent finishes the last file. metadata.yaml follows right after it.
func (w *Writer) sealCurrent() error {
	inner, err := w.Metadata().EncodeInnerVersion(w.options.MetadataVersion)
	if err == nil {
		err = w.current.writer.Seal(inner)
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, w.current.writer.Close())
	w.refresh()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail(err)
}

// refresh asks all files what they really have, after one of them failed.
func (w *Writer) refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.counts)
	for _, p := range w.files {
		p.info = p.writer.Info()
		for i, topic := range p.info.Topics {
			w.counts[i] += topic.MessageCount
		}
	}
}
