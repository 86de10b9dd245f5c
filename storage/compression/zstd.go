package compression

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A frame says how large its content is. Up to these bounds the number is believed and the memory taken at once; above
// them memory grows with what really comes out.
const (
	believedSize  = 8 << 20
	believedRatio = 64
	// maxWindow is the largest window a frame may ask for: that of the highest level there is.
	maxWindow = 128 << 20
	// maxMessage bounds what a single message may become.
	maxMessage = 2 << 30
)

// zstdCodec is Zstandard; rosbag2 has level 1 of it.
func zstdCodec() Codec {
	return Codec{
		ID:          "zstd",
		Extension:   ".zstd",
		Description: "Zstandard (RFC 8878)",
		MaxLevel:    22,
		NewWriter:   newZstdWriter,
		NewReader: func(r io.Reader) (io.ReadCloser, error) {
			decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, fmt.Errorf("set up zstd: %w", err)
			}
			return decoder.IOReadCloser(), nil
		},
		Compress:   compressZstd,
		Decompress: decompressZstd,
	}
}

// newZstdWriter makes one frame, with a checksum of its content.
func newZstdWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1),
		zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	if size <= 0 { // an empty frame has no size to tell
		encoder.Reset(w)
	} else {
		encoder.ResetContentSize(w, size)
	}
	return encoder, nil
}

// messageEncoder compresses single messages at one level. The library leaves the size out of frames below 256 bytes,
// which rosbag2 refuses, unless they are single segments; those in turn ask a reader for memory of their whole size.
type messageEncoder struct {
	once         sync.Once
	small, large *zstd.Encoder
	err          error
}

func (e *messageEncoder) setUp(kind zstd.EncoderLevel) {
	options := []zstd.EOption{zstd.WithEncoderLevel(kind), zstd.WithZeroFrames(true)}
	if e.large, e.err = zstd.NewWriter(nil, options...); e.err == nil {
		e.small, e.err = zstd.NewWriter(nil, append(options, zstd.WithSingleSegment(true))...)
	}
}

// The coders of single messages have no goroutine of their own and are shared.
var (
	zstdEncoders [zstd.SpeedBestCompression + 1]messageEncoder
	zstdDecoder  = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxMessage))
	})
)

func compressZstd(dst, message []byte, level int) ([]byte, error) {
	kind := zstd.EncoderLevelFromZstd(level)
	shared := &zstdEncoders[kind]
	shared.once.Do(func() { shared.setUp(kind) })
	if shared.err != nil {
		return dst, fmt.Errorf("set up zstd: %w", shared.err)
	}
	if len(message) <= zstd.MinWindowSize {
		return shared.small.EncodeAll(message, dst), nil
	}
	return shared.large.EncodeAll(message, dst), nil
}

func decompressZstd(dst, frame []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(frame); err != nil {
		return dst, fmt.Errorf("decompress message: %w", err)
	}
	if head.HasFCS && head.FrameContentSize > believedSize && head.FrameContentSize/believedRatio > uint64(len(frame)) {
		return growZstd(dst, frame)
	}
	decoder, err := zstdDecoder()
	if err != nil {
		return dst, fmt.Errorf("set up zstd: %w", err)
	}
	dst, err = decoder.DecodeAll(frame, dst)
	if err != nil {
		return dst, fmt.Errorf("decompress message: %w", err)
	}
	return dst, nil
}

func growZstd(dst, frame []byte) ([]byte, error) {
	window := min(max(believedSize, 32*uint64(len(frame))), maxWindow) // it is memory, too
	decoder, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		return dst, fmt.Errorf("set up zstd: %w", err)
	}
	defer decoder.Close()
	out := bytes.NewBuffer(dst)
	if _, err := out.ReadFrom(io.LimitReader(decoder, maxMessage+1)); err != nil {
		return dst, fmt.Errorf("decompress message: %w", err)
	}
	if out.Len()-len(dst) > maxMessage {
		return dst, fmt.Errorf("decompress message: %w", zstd.ErrDecoderSizeExceeded)
	}
	return out.Bytes(), nil
}
