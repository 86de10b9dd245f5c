package bag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"rosbagd/storage"
	"rosbagd/storage/compression"
	"rosbagd/storage/formats"
)

var packedMagic = []byte{0x28, 0xB5, 0x2F, 0xFD} // RFC 8878, 3.1.1

// isPacked says whether a file begins as a compressed one.
func isPacked(path string) (bool, error) {
	file, err := storage.OpenFile(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, len(packedMagic))
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("read bag file: %w", err)
	}
	return bytes.Equal(head[:n], packedMagic), nil
}

// detectPacked finds the format of what is in a compressed file by its content.
func detectPacked(path string) (storage.Format, error) {
	file, err := storage.OpenFile(path)
	if err != nil {
		return storage.Format{}, err
	}
	defer file.Close()
	if _, err := measurePacked(path, file, 1); err != nil {
		return storage.Format{}, err
	}
	codec, err := compression.Lookup(CompressionZstd)
	if err != nil {
		return storage.Format{}, err
	}
	unpacked, err := codec.NewReader(file)
	if err != nil {
		return storage.Format{}, err
	}
	defer unpacked.Close()
	head := make([]byte, storage.HeadLen)
	n, err := io.ReadFull(unpacked, head)
	if n == 0 {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return storage.Format{}, fmt.Errorf("open %s: unpacked: %w", path, storage.ErrEmpty)
		}
		return storage.Format{}, &storage.CorruptionError{Path: path, Err: err}
	}
	for _, format := range formats.All() {
		if format.Matches(head[:n]) {
			return format, nil
		}
	}
	return storage.Format{}, fmt.Errorf("open %s: unpacked: %w", path, storage.ErrUnknownFormat)
}

// packedEnd says how a compressed file ends.
type packedEnd string

const (
	endWhole packedEnd = "whole"
	// endUnmarked is a file that ends behind a block which is not marked as the last one. rosbag2 leaves such files
	// when the size of the content is a multiple of 128 KiB: all of it is there.
	endUnmarked packedEnd = "unmarked"
	// endCut is a file that ends within a block.
	endCut packedEnd = "cut"
)

// note is what is to be said about a file that ends so.
func (e packedEnd) note() string {
	switch e {
	case endUnmarked:
		return "the compressed file has no end mark, it is read as far as it goes"
	case endCut:
		return "the compressed file is cut off or damaged, it is read as far as it goes"
	default:
		return ""
	}
}

// packedShape is what the headers of a compressed file tell without unpacking it.
type packedShape struct {
	most int64 // unpacked size in bytes, at most
	end  packedEnd
}

// estimateBlocks is how many blocks are looked at to tell about how large a file becomes: 128 MiB of content.
const estimateBlocks = 1024

const (
	maxPackedBlock = 128 << 10 // RFC 8878, 3.1.1.2.4
	// A window is memory. RFC 8878, 3.1.1.1.2, asks decoders for the first number; the second is that of the highest
	// level there is. Between them a window must be in proportion to the file.
	believedWindow  = 8 << 20
	maxWindow       = 128 << 20
	windowRatio     = 32
	packedBlockHead = 3
)

// measurePacked goes through the frames and blocks of a file: through all of them, or so many when blocks is not 0. The
// size is then reckoned from these and may be somewhat wrong, and the end is not known.
func measurePacked(path string, file *os.File, blocks int) (packedShape, error) {
	info, err := file.Stat()
	if err != nil {
		return packedShape{}, fmt.Errorf("read %s: %w", path, err)
	}
	w := packedWalk{path: path, file: file, size: info.Size(), limit: blocks}
	shape := packedShape{end: endWhole}
	for w.at < w.size && shape.end == endWhole {
		frame, err := w.frame()
		if err != nil {
			return packedShape{}, err
		}
		shape.most += frame.most
		shape.end = frame.end
		if w.full() {
			// In floating point, as both may be large; a fiftieth more for what lies between.
			shape.most = int64(float64(shape.most) * float64(w.size) / float64(w.at) * 1.02)
			break
		}
	}
	return shape, nil
}

type packedWalk struct {
	path string
	file io.ReaderAt
	size int64
	at   int64

	blocksSeen, limit int
}

func (w *packedWalk) full() bool { return w.limit > 0 && w.blocksSeen >= w.limit && w.at < w.size }

func (w *packedWalk) read(p []byte) ([]byte, error) {
	n, err := w.file.ReadAt(p, w.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", w.path, err)
	}
	return p[:n], nil
}

func (w *packedWalk) frame() (packedShape, error) {
	start := w.at
	var buffer [zstd.HeaderMaxSize]byte
	p, err := w.read(buffer[:])
	if err != nil {
		return packedShape{}, err
	}
	var head zstd.Header
	if err := head.Decode(p); err != nil {
		if start > 0 {
			return packedShape{end: endCut}, nil // the frames before it are good
		}
		return packedShape{}, &storage.CorruptionError{Path: w.path, Offset: start, Err: err}
	}
	w.at += int64(head.HeaderSize)
	if head.Skippable {
		w.at += int64(head.SkippableSize)
		if w.at > w.size {
			return packedShape{end: endCut}, nil
		}
		return packedShape{end: endWhole}, nil
	}
	window := head.WindowSize
	if head.SingleSegment {
		window = head.FrameContentSize
	}
	if window > believedWindow && (window > maxWindow || window/windowRatio > uint64(w.size)) {
		return packedShape{}, &storage.CorruptionError{
			Path: w.path, Offset: start, Err: fmt.Errorf("unpacking asks for %d bytes of memory: %w", window, storage.ErrUnsupported),
		}
	}
	shape, err := w.blocks(int64(min(max(window, 1), maxPackedBlock)), head.HasCheckSum)
	if err != nil {
		return packedShape{}, err
	}
	if head.HasFCS && !w.full() {
		if head.FrameContentSize <= uint64(shape.most) {
			shape.most = int64(head.FrameContentSize)
		} else {
			shape.end = endCut
		}
	}
	return shape, nil
}

func (w *packedWalk) blocks(most int64, checksum bool) (packedShape, error) {
	shape := packedShape{end: endCut}
	var buffer [packedBlockHead]byte
	for {
		if w.at == w.size {
			shape.end = endUnmarked
			return shape, nil
		}
		p, err := w.read(buffer[:])
		if err != nil || len(p) < packedBlockHead {
			return shape, err
		}
		head := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
		length := int64(head >> 3)
		content, stored := length, length
		switch head >> 1 & 3 {
		case 0: // raw
		case 1: // one byte, repeated
			stored = 1
		case 2:
			content = most
		default:
			return shape, nil
		}
		if w.at+packedBlockHead+stored > w.size {
			shape.most += min(content, most) // a decoder may give a part of it
			return shape, nil
		}
		w.at += packedBlockHead + stored
		shape.most += content
		if head&1 == 0 {
			if w.blocksSeen++; w.full() {
				shape.end = endWhole
				return shape, nil
			}
			continue
		}
		shape.end = endWhole
		if checksum {
			w.at += 4
			if w.at > w.size {
				shape.end = endUnmarked
			}
		}
		return shape, nil
	}
}
