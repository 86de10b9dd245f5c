package bag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"rosbagd/storage"
	"rosbagd/storage/compression"
)

const (
	// compressedPiece is what is read at once: the compressor's own memory is larger than this.
	compressedPiece = 256 << 10
	// syncedPiece is written before it is synced, so that the disk never has much of it to take at once: what is being
	// recorded has to be synced in between.
	syncedPiece = 16 << 20
)

// fileCompressor turns finished files into compressed ones.
type fileCompressor struct {
	directory directory
	codec     compression.Codec
	level     int
}

// compress puts the compressed form of a file beside it, whole or not at all, and removes the file only when the other
// is safe: at any moment at least one of the two is complete under its final name. It returns that of the compressed
// one. ctx ends it early with its error and without a trace.
func (c *fileCompressor) compress(ctx context.Context, name string) (string, error) {
	compressed := name + c.codec.Extension
	temporary := compressed + temporaryExtension
	if err := c.write(ctx, name, temporary); err != nil {
		return "", errors.Join(fmt.Errorf("compress %s: %w", filepath.Join(c.directory.Name(), name), storage.WithoutPath(err)),
			c.directory.Remove(temporary))
	}
	if err := putInPlace(c.directory, temporary, compressed); err != nil {
		return "", err
	}
	if err := c.directory.Remove(name); err != nil {
		return "", fmt.Errorf("remove %s: %w", filepath.Join(c.directory.Name(), name), storage.WithoutPath(err))
	}
	return compressed, nil
}

func (c *fileCompressor) write(ctx context.Context, name, temporary string) error {
	source, err := c.directory.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := c.directory.Create(temporary)
	if err != nil {
		return err
	}
	synced := &syncedWriter{file: target}
	err = c.stream(ctx, synced, source, info.Size())
	if err == nil {
		err = target.Sync()
	}
	return errors.Join(err, target.Close())
}

func (c *fileCompressor) stream(ctx context.Context, target io.Writer, source io.Reader, size int64) error {
	encoder, err := c.codec.NewWriter(target, c.level, size)
	if err != nil {
		return err
	}
	piece := make([]byte, compressedPiece)
	for {
		if err := context.Cause(ctx); err != nil {
			return errors.Join(err, encoder.Close())
		}
		n, err := source.Read(piece)
		if n > 0 {
			if _, err := encoder.Write(piece[:n]); err != nil {
				return errors.Join(err, encoder.Close())
			}
			// What is recorded now must not wait for a piece of what was.
			runtime.Gosched()
		}
		if errors.Is(err, io.EOF) {
			return encoder.Close()
		}
		if err != nil {
			return errors.Join(err, encoder.Close())
		}
	}
}

// syncedWriter syncs piece by piece.
type syncedWriter struct {
	file     storage.File
	unsynced int
}

func (w *syncedWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.unsynced += n
	if err == nil && w.unsynced >= syncedPiece {
		w.unsynced = 0
		err = w.file.Sync()
	}
	return n, err
}
