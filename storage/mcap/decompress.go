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

// A chunk says how large it is when unpacked. That is believed up to what the compression can pack at the very best, so
// a few bad bytes can not ask for gigabytes: memory for a chunk is at most that many times what the file has of it. A
// block of zstd takes 4 bytes for 128 KiB (RFC 8878, 3.1.1.2.2); one byte of lz4 stands for at most 255.
const (
	zstdAtBest = 128 << 10 / 4
	lz4AtBest  = 255
)

// maxUncompressed bounds a chunk in memory. The largest chunk that this program writes holds one message of almost 2 GiB.
const maxUncompressed = math.MaxInt32

var errChunkLarge = errors.New("chunk is too large")

// decompress gives the records of a chunk in memory of their own; stored itself when they are not compressed.
func (r *Reader) decompress(head chunkHead, stored []byte) ([]byte, error) {
	if head.compression != CompressionNone && head.uncompressed > maxUncompressed {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are decompressed", errChunkLarge, head.uncompressed, int64(maxUncompressed))
	}
	switch head.compression {
	case CompressionNone:
		return stored, nil
	case CompressionZstd:
		if head.uncompressed > zstdAtBest*uint64(len(stored)) {
			return nil, errChunkSize
		}
		decoder, err := r.zstdDecoder()
		if err != nil {
			return nil, err
		}
		// The decoder stays within the memory it gets, whatever a frame claims.
		records, err := decoder.DecodeAll(stored, make([]byte, 0, head.uncompressed))
		if err != nil {
			return nil, fmt.Errorf("decompress chunk: %w", err)
		}
		return records, nil
	case CompressionLZ4:
		if head.uncompressed > lz4AtBest*uint64(len(stored)) {
			return nil, errChunkSize
		}
		decoder := lz4.NewReader(bytes.NewReader(stored))
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
