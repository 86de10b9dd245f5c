package compression

import (
	"fmt"
	"io"
	"strings"

	"rosbagd/storage"
)

// Codec compresses and decompresses. Its functions may be called by several goroutines at a time.
type Codec struct {
	ID          string // the word of metadata.yaml and of --compression-format
	Extension   string // with its dot; put behind the name of a compressed file
	Description string // one line for `list`
	// MaxLevel is the highest level of compression. The lowest is 1, which 0 stands for.
	MaxLevel int
	// NewWriter compresses what is written, in the goroutine that writes. size is how many bytes that will be, for the
	// stream to tell; -1 when it is not known. Close finishes the stream and leaves w open.
	NewWriter func(w io.Writer, level int, size int64) (io.WriteCloser, error)
	// NewReader decompresses r to its end. A stream that ends within a frame gives io.ErrUnexpectedEOF behind all that
	// could be read.
	NewReader func(r io.Reader) (io.ReadCloser, error)
	// Compress appends one complete frame that holds message, and its size.
	Compress func(dst, message []byte, level int) ([]byte, error)
	// Decompress appends the content of one frame. The size that a frame claims is not believed when it is out of
	// proportion to the frame.
	Decompress func(dst, frame []byte) ([]byte, error)
}

// All lists the codecs, the default first.
func All() []Codec { return []Codec{zstdCodec()} }

// Lookup finds a codec by its id; an error wraps storage.ErrUnsupported and names the ids there are.
func Lookup(id string) (Codec, error) {
	ids := make([]string, 0, 1)
	for _, codec := range All() {
		if codec.ID == id {
			return codec, nil
		}
		ids = append(ids, codec.ID)
	}
	return Codec{}, fmt.Errorf("compression format %q: %w (known: %s)", id, storage.ErrUnsupported, strings.Join(ids, ", "))
}
