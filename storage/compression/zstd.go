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
)

// zstdCodec is Zstandard at level 1, as rosbag2 has it.
func zstdCodec() Codec {
	return Codec{
		ID:          "zstd",
		Extension:   ".zstd",
		Description: "Zstandard (RFC 8878), level 1",
		NewWriter: func(w io.Writer) (io.WriteCloser, error) {
			encoder, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
			if err != nil {
				return nil, fmt.Errorf("set up zstd: %w", err)
			}
			return encoder, nil
		},
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

// The coders of single messages have no goroutine of their own and are shared.
var (
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithZeroFrames(true))
	})
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxWindow(maxWindow))
	})
)

func compressZstd(dst, message []byte) ([]byte, error) {
	encoder, err := zstdEncoder()
	if err != nil {
		return dst, fmt.Errorf("set up zstd: %w", err)
	}
	return encoder.EncodeAll(message, dst), nil
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
	decoder, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return dst, fmt.Errorf("set up zstd: %w", err)
	}
	defer decoder.Close()
	out := bytes.NewBuffer(dst)
	if _, err := out.ReadFrom(decoder); err != nil {
		return dst, fmt.Errorf("decompress message: %w", err)
	}
	return out.Bytes(), nil
}
