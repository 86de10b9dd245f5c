package bag

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"rosbagd/storage/compression"
)

// A file that is no longer written to goes through two stages, each with goroutines of its own, so that what makes the
// file safe never waits for what makes it small: it is sealed, and it is compressed if that was asked for. Then
// metadata.yaml names it and OnSplit tells of it, always in the order of the files.

// sealQueued seals files until told to end; what is left is for Seal.
func (w *Writer) sealQueued(ctx context.Context) error {
	return w.consume(ctx, w.closable, func() error {
		p := w.pop(&w.closing, w.closable)
		if p == nil {
			return nil
		}
		return w.sealPart(p)
	})
}

// compressQueued compresses files until told to end; what is left is for Seal.
func (w *Writer) compressQueued(ctx context.Context) error {
	return w.consume(ctx, w.sealedFile, func() error {
		p := w.pop(&w.uncompressed, w.sealedFile)
		if p == nil {
			return nil
		}
		return w.compressPart(ctx, p)
	})
}

func (w *Writer) consume(ctx context.Context, ready <-chan struct{}, work func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.stop:
			return nil
		case <-ready:
			if err := work(); err != nil {
				return err
			}
		}
	}
}

// pop takes the first file of a queue and wakes the next receiver when there are more.
func (w *Writer) pop(queue *[]*part, ready chan struct{}) *part {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(*queue) == 0 {
		return nil
	}
	p := (*queue)[0]
	*queue = (*queue)[1:]
	if len(*queue) > 0 {
		signal(ready)
	}
	return p
}

// sealPart finishes a file as the storage does.
func (w *Writer) sealPart(p *part) error {
	began := time.Now()
	metadata, err := w.innerMetadata(p)
	if err == nil {
		err = p.writer.Seal(metadata)
	}
	if err != nil {
		err = errors.Join(err, p.writer.Close())
	}
	w.mu.Lock()
	if p.opened != "" {
		w.unsealed--
	}
	if err != nil {
		defer w.mu.Unlock()
		p.info = p.writer.Info() // what the file still has
		p.finished = true
		return w.fail(err)
	}
	compressed := w.options.CompressionMode == CompressionFile
	if compressed {
		w.uncompressed = append(w.uncompressed, p)
		signal(w.sealedFile)
	} else {
		p.finished = true
	}
	w.mu.Unlock()
	w.log.Info("bag file finished", zap.String("file", filepath.Join(w.path, p.name)),
		zap.Uint64("messages", p.info.MessageCount), zap.Duration("took", time.Since(began)))
	if compressed {
		return nil
	}
	return w.publish()
}

// compressPart compresses a sealed file. A file that can not be compressed stays as it is, readable, and the bag goes
// on; Seal tells of it.
func (w *Writer) compressPart(ctx context.Context, p *part) error {
	began := time.Now()
	codec, err := compression.Lookup(w.options.CompressionFormat)
	if err != nil {
		return w.failWith(err)
	}
	c := fileCompressor{directory: w.directory, codec: codec, level: w.options.CompressionLevel}
	var final string
	inBackground(func() { final, err = c.compress(ctx, p.name) })
	w.mu.Lock()
	switch {
	case err == nil:
		p.final, p.finished = final, true
	case ctx.Err() != nil:
		w.uncompressed = append([]*part{p}, w.uncompressed...)
	default:
		w.compression = errors.Join(w.compression, err)
		p.finished = true
	}
	finished := p.finished
	w.mu.Unlock()
	switch {
	case !finished:
		return nil
	case err != nil:
		w.log.Error("bag file stays uncompressed", zap.String("file", filepath.Join(w.path, p.name)), zap.Error(err))
	default:
		w.log.Info("bag file compressed", zap.String("file", filepath.Join(w.path, final)), zap.Duration("took", time.Since(began)))
	}
	return w.publish()
}

// compressionThreads is how many files are compressed at a time. One core is left to what is being recorded.
func (w *Writer) compressionThreads() int {
	if w.options.CompressionMode != CompressionFile {
		return 0
	}
	if w.options.CompressionThreads > 0 {
		return w.options.CompressionThreads
	}
	return max(1, runtime.GOMAXPROCS(0)-1)
}

// publish rewrites metadata.yaml with the files that are finished, up to the first that is not, so that every file which
// it names is there under that name; then it tells of them.
func (w *Writer) publish() error {
	w.metadataMu.Lock()
	defer w.metadataMu.Unlock()
	w.mu.Lock()
	n := w.published
	for n < len(w.files) && w.files[n].finished {
		n++
	}
	finished := w.files[w.published:n]
	if len(finished) == 0 || w.failed != nil {
		w.mu.Unlock()
		return nil
	}
	w.published = n
	for _, p := range finished {
		for len(w.publishedCounts) < len(p.info.Topics) {
			w.publishedCounts = append(w.publishedCounts, 0)
		}
		for i, topic := range p.info.Topics {
			w.publishedCounts[i] += topic.MessageCount
		}
	}
	metadata := w.publishedMetadata()
	w.mu.Unlock()
	if err := w.writeMetadata(metadata); err != nil {
		return w.failWith(err)
	}
	if w.options.OnSplit == nil {
		return nil
	}
	for _, p := range finished {
		if p.opened != "" {
			w.options.OnSplit(filepath.Join(w.path, p.final), filepath.Join(w.path, p.opened))
		}
	}
	return nil
}

// Seal ends Run, finishes all files and writes metadata.yaml last. After a failure it still finishes what can be
// finished, writes the metadata of what the files have, and returns the failure. That files could not be compressed is
// an error too, but costs nothing else. A second call returns ErrSealed.
func (w *Writer) Seal() error {
	w.mu.Lock()
	if w.sealed {
		w.mu.Unlock()
		return ErrSealed
	}
	w.sealed = true
	w.retire(w.current)
	w.mu.Unlock()
	close(w.stop)
	w.running.Wait()

	// The first failure is kept; each later one would only follow from it.
	for p := w.pop(&w.closing, w.closable); p != nil; p = w.pop(&w.closing, w.closable) {
		_ = w.sealPart(p)
	}
	_ = w.sealPart(w.current)
	w.compressAll()
	w.recount()
	err := w.writeLastMetadata()
	err = errors.Join(err, w.directory.Close())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	return errors.Join(w.compression, err)
}

// compressAll compresses what Run did not come to.
func (w *Writer) compressAll() {
	var group errgroup.Group
	for range w.compressionThreads() {
		group.Go(func() error {
			for p := w.pop(&w.uncompressed, w.sealedFile); p != nil; p = w.pop(&w.uncompressed, w.sealedFile) {
				_ = w.compressPart(context.Background(), p)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// writeLastMetadata writes what publish did not: after a failure, or when there was nothing to publish.
func (w *Writer) writeLastMetadata() error {
	w.metadataMu.Lock()
	defer w.metadataMu.Unlock()
	w.release()
	w.mu.Lock()
	done := w.failed == nil && w.published == len(w.files)
	w.mu.Unlock()
	if done {
		return nil
	}
	return w.writeMetadata(w.Metadata())
}

// recount asks all files what they really have when one of them failed.
func (w *Writer) recount() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		return
	}
	clear(w.counts)
	for _, p := range w.files {
		p.info = p.writer.Info()
		for i, topic := range p.info.Topics {
			w.counts[i] += topic.MessageCount
		}
	}
}
