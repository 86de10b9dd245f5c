package mcap

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressor turns the records of a chunk into what the file keeps. The result is valid until the next call.
type compressor interface {
	compress(records []byte) ([]byte, error)
	close() error
}

// newCompressor gives nil for no compression. limit is the size of chunks; a larger one holds a single message.
func newCompressor(kind Compression, level Level, limit int) (compressor, error) {
	switch kind {
	case CompressionNone:
		return nil, nil
	case CompressionZstd:
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstdLevel(level)), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false)) // the chunk has its own checksum
		if err != nil {
			return nil, fmt.Errorf("set up zstd: %w", err)
		}
		return &zstdCompressor{encoder: encoder, limit: limit}, nil
	case CompressionLZ4:
		c := &lz4Compressor{writer: lz4.NewWriter(nil), limit: limit}
		err := c.writer.Apply(lz4.CompressionLevelOption(lz4Level(level)), lz4.ChecksumOption(false),
			lz4.BlockSizeOption(lz4Block(limit)))
		if err != nil {
			return nil, fmt.Errorf("set up lz4: %w", err)
		}
		return c, nil
	default:
		return nil, fmt.Errorf("unknown chunk compression %q (known: zstd, lz4)", kind)
	}
}

func zstdLevel(level Level) zstd.EncoderLevel {
	switch level {
	case LevelFastest, LevelFast:
		return zstd.SpeedFastest
	case LevelSlow:
		return zstd.SpeedBetterCompression
	case LevelSlowest:
		return zstd.SpeedBestCompression
	default:
		return zstd.SpeedDefault
	}
}

func lz4Level(level Level) lz4.CompressionLevel {
	switch level {
	case LevelFastest, LevelFast:
		return lz4.Fast
	case LevelSlow:
		return lz4.Level6
	case LevelSlowest:
		return lz4.Level9
	default:
		return lz4.Level3
	}
}

// lz4Block is the smallest block that holds a chunk: a reader takes memory for a whole one.
func lz4Block(limit int) lz4.BlockSize {
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb} {
		if limit <= int(size) {
			return size
		}
	}
	return lz4.Block4Mb
}

type zstdCompressor struct {
	encoder *zstd.Encoder
	limit   int
	out     []byte
}

func (c *zstdCompressor) compress(records []byte) ([]byte, error) {
	if len(records) > c.limit { // its memory is not kept
		return c.encoder.EncodeAll(records, nil), nil
	}
	c.out = c.encoder.EncodeAll(records, c.out[:0])
	return c.out, nil
}

func (c *zstdCompressor) close() error { return c.encoder.Close() }

type lz4Compressor struct {
	writer *lz4.Writer
	limit  int
	out    bytes.Buffer
}

func (c *lz4Compressor) compress(records []byte) ([]byte, error) {
	out := &c.out
	if len(records) > c.limit { // its memory is not kept
		out = &bytes.Buffer{}
	}
	out.Reset()
	c.writer.Reset(out)
	if _, err := c.writer.Write(records); err != nil {
		return nil, fmt.Errorf("compress chunk: %w", err)
	}
	if err := c.writer.Close(); err != nil {
		return nil, fmt.Errorf("compress chunk: %w", err)
	}
	return out.Bytes(), nil
}

func (c *lz4Compressor) close() error { return nil }
