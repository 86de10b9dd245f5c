package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A chunk says how large it is when unpacked. That is believed up to believedRatio times what is stored; above it,
// memory grows with what really comes out, so that a few bad bytes can not ask for gigabytes.
const (
	believedRatio = 64
	believedLeast = 64 << 10
)

// maxUncompressed bounds a chunk in memory. The largest chunk that this program writes holds one message of almost 2 GiB.
const maxUncompressed = math.MaxInt32

var errChunkLarge = errors.New("chunk is too large")

// decompress gives the records of a chunk in memory of their own; stored itself when they are not compressed.
func (r *Reader) decompress(head chunkHead, stored []byte) ([]byte, error) {
	if head.compression != CompressionNone && head.uncompressed > maxUncompressed {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are decompressed", errChunkLarge, head.uncompressed, int64(maxUncompressed))
	}
	believed := min(head.uncompressed, believedRatio*uint64(len(stored))+believedLeast)
	switch head.compression {
	case CompressionNone:
		return stored, nil
	case CompressionZstd:
		decoder, err := r.zstdDecoder()
		if err != nil {
			return nil, err
		}
		for {
			records, err := decoder.DecodeAll(stored, make([]byte, 0, believed))
			if err == nil {
				return records, nil
			}
			// The decoder stays within the memory it gets. What is packed so tightly is unpacked once more.
			if !errors.Is(err, zstd.ErrDecoderSizeExceeded) || believed >= head.uncompressed {
				return nil, fmt.Errorf("decompress chunk: %w", err)
			}
			believed = min(believed*8, head.uncompressed)
		}
	case CompressionLZ4:
		decoder := lz4.NewReader(bytes.NewReader(stored))
		if believed < head.uncompressed {
			return grow(decoder, head.uncompressed)
		}
		records := make([]byte, head.uncompressed)
		if _, err := io.ReadFull(decoder, records); err != nil {
			return nil, fmt.Errorf("decompress chunk: %w", err)
		}
		// Only at its end does the decoder give its large buffers back for the next chunk.
		if n, err := decoder.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			return nil, errors.Join(errChunkSize, err)
		}
		return records, nil
	default:
		return nil, fmt.Errorf("%w %q", errCompression, head.compression)
	}
}

// grow reads at most one byte more than expected, which then shows as another size.
func grow(from io.Reader, expected uint64) ([]byte, error) {
	limit := int64(expected) + 1
	var out bytes.Buffer
	if _, err := out.ReadFrom(io.LimitReader(from, limit)); err != nil {
		return nil, fmt.Errorf("decompress chunk: %w", err)
	}
	return out.Bytes(), nil
}

// zstdDecoder is shared by all iterators; it has no goroutine.
func (r *Reader) zstdDecoder() (*zstd.Decoder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxUncompressed),
			zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, fmt.Errorf("set up zstd: %w", err)
		}
		r.zstd = decoder
	}
	return r.zstd, nil
}
