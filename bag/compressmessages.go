package bag

import (
	"runtime"
	"sync"
	"sync/atomic"

	"rosbagd/storage"
	"rosbagd/storage/compression"
)

const (
	// compressedAtOnce bounds, in bytes of payload, what is compressed before it is written, and messagesAtOnce how many.
	compressedAtOnce = 4 << 20
	messagesAtOnce   = 4096
	// worthThreads is the payload below which a second thread costs more than it helps.
	worthThreads = 64 << 10
)

// messageCompressor turns payloads into frames, several at a time and in their order: whoever writes waits, and nothing
// is left out. Its memory is used again for the next call: the compressed form of compressedAtOnce.
type messageCompressor struct {
	codec    compression.Codec
	level    int
	threads  int
	messages []storage.Message
	frames   [][]byte // those of a thread, one behind the other
}

func newMessageCompressor(options WriterOptions) (*messageCompressor, error) {
	codec, err := compression.Lookup(options.CompressionFormat)
	if err != nil {
		return nil, err
	}
	threads := options.CompressionThreads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &messageCompressor{codec: codec, level: options.CompressionLevel, threads: threads, frames: make([][]byte, threads)}, nil
}

// compress gives the compressed form of the first of the messages, at least one. It is valid until the next call.
func (c *messageCompressor) compress(messages []storage.Message) ([]storage.Message, error) {
	payload, n := 0, 0
	for n < len(messages) && (n == 0 || payload+len(messages[n].Data) <= compressedAtOnce) && n < messagesAtOnce {
		payload += len(messages[n].Data)
		n++
	}
	c.messages = append(c.messages[:0], messages[:n]...)
	threads := min(c.threads, n, payload/worthThreads+1)
	var (
		next   atomic.Int64
		first  atomic.Pointer[error]
		others sync.WaitGroup
	)
	work := func(thread int) {
		frames := c.frames[thread][:0]
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			start := len(frames)
			var err error
			if frames, err = c.codec.Compress(frames, messages[i].Data, c.level); err != nil {
				first.CompareAndSwap(nil, &err)
				return
			}
			c.messages[i].Data = frames[start:]
		}
		if cap(frames) > 2*compressedAtOnce {
			frames = nil // one large message, not to be kept for good
		}
		c.frames[thread] = frames
	}
	for thread := 1; thread < threads; thread++ {
		others.Go(func() { work(thread) })
	}
	work(0)
	others.Wait()
	if err := first.Load(); err != nil {
		return nil, *err
	}
	return c.messages, nil
}
