package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A chunk says how large it is when unpacked. Up to these bounds the number is believed and the memory taken at once;
// above them memory grows with what really comes out, so that a few bad bytes can not ask for gigabytes.
const (
	believedSize  = 8 << 20
	believedRatio = 64
)

// maxUncompressed bounds a chunk in memory: a few bytes of zstd can claim to be terabytes. The largest chunk that this
// program writes holds one message.
const maxUncompressed = 1 << 30

var errChunkLarge = errors.New("chunk is too large")

// decompress gives the records of a chunk in memory of their own; stored itself when they are not compressed.
func (r *Reader) decompress(head chunkHead, stored []byte) ([]byte, error) {
	if head.compression != CompressionNone && head.uncompressed > maxUncompressed {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are decompressed", errChunkLarge, head.uncompressed, int64(maxUncompressed))
	}
	believed := head.uncompressed <= believedSize || head.uncompressed/believedRatio <= uint64(len(stored))
	switch head.compression {
	case CompressionNone:
		return stored, nil
	case CompressionZstd:
		var frame zstd.Header
		if err := frame.Decode(stored); err != nil {
			return nil, fmt.Errorf("decompress chunk: %w", err)
		}
		if believed && (!frame.HasFCS || frame.FrameContentSize <= head.uncompressed) {
			decoder, err := r.zstdDecoder()
			if err != nil {
				return nil, err
			}
			records, err := decoder.DecodeAll(stored, make([]byte, 0, head.uncompressed))
			if err != nil {
				return nil, fmt.Errorf("decompress chunk: %w", err)
			}
			return records, nil
		}
		decoder, err := zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("decompress chunk: %w", err)
		}
		defer decoder.Close()
		return grow(decoder, head.uncompressed)
	case CompressionLZ4:
		decoder := lz4.NewReader(bytes.NewReader(stored))
		if !believed {
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
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxUncompressed))
		if err != nil {
			return nil, fmt.Errorf("set up zstd: %w", err)
		}
		r.zstd = decoder
	}
	return r.zstd, nil
}
