package bag

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage"
)

// maxUnsealed bounds the files that wait for the disk to take their last bytes, each with a chunk and an index in memory.
const maxUnsealed = 16

// messageOverhead is more than any format adds to a message.
const messageOverhead = 128

// fitting counts the messages, from the first on, that go into the current file before it has to be asked for its size
// or there has to be a new one; 0 is a new one. Neither limit costs a system call or a lock for each message: room is
// reckoned with more than a message can take, so that the size is asked for before it is reached, ever more often the
// nearer it comes.
func (w *Writer) fitting(messages []storage.Message) int {
	if w.options.MaxSize == 0 && w.options.MaxDuration == 0 {
		return len(messages)
	}
	p := w.current
	switch {
	case w.options.MaxSize == 0:
		p.room = math.MaxInt64
	case p.room <= 0:
		p.room = w.options.MaxSize - p.writer.Size()
		if p.room <= 0 && p.written {
			return 0
		}
	}
	longest := int64(w.options.MaxDuration)
	if longest == 0 {
		longest = math.MaxInt64
	}
	n, room, first := 0, p.room, p.first
	for n < len(messages) {
		m := &messages[n]
		// A time before 1970 is none, and the message will be rejected. Before the first message of the file, first is so
		// large that the difference is negative.
		if at := m.LogTimeNanos; at >= 0 {
			if at-first > longest {
				break
			}
			first = min(first, at)
		}
		if room <= 0 && (n > 0 || p.written) {
			break
		}
		room -= int64(len(m.Data)) + messageOverhead
		n++
	}
	p.room, p.first = room, first
	p.written = p.written || n > 0
	return n
}

// splitWhenDue splits, or says that the current file has to grow on: the disk still has too many others to finish.
func (w *Writer) splitWhenDue() (split bool, err error) {
	_, _, err = w.Split()
	for w.options.WaitForDisk && errors.Is(err, ErrBusy) {
		if p := w.pop(&w.closing, w.closable); p != nil {
			if err := w.sealPart(p); err != nil {
				return true, err
			}
		}
		_, _, err = w.Split()
	}
	if !errors.Is(err, ErrBusy) {
		return true, err
	}
	if !w.current.overdue {
		w.current.overdue = true
		w.log.Warn("split is put off, the disk has too many files to finish", zap.String("bag", w.path), zap.Int("files", maxUnsealed))
	}
	return false, nil
}

// Split goes on in a new file. The old one is finished by Run, so that a slow disk does not hold up writing (without Run,
// by Seal, or by Split when there are too many); ErrBusy when Run has too many of them to finish, with the bag as it was.
// The paths are returned; OnSplit tells when the old file is final.
func (w *Writer) Split() (closed, opened string, err error) {
	w.mu.Lock()
	number, full, ran := len(w.files), w.unsealed >= maxUnsealed, w.ran
	err = w.usable()
	w.mu.Unlock()
	switch {
	case err != nil || !full:
	case ran:
		err = fmt.Errorf("split bag %s: %w", w.path, ErrBusy)
	default: // nobody else does it
		if p := w.pop(&w.closing, w.closable); p != nil {
			err = w.sealPart(p)
		}
	}
	if err != nil {
		return "", "", err
	}
	next, err := w.openPart(number)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return "", "", w.fail(err)
	}
	old := w.current
	// The promise of FlushAge must not wait until Run gets to this file.
	if err := w.watched(old.writer.Flush); err != nil {
		return "", "", w.fail(errors.Join(err, next.writer.Close(), w.directory.Remove(next.name)))
	}
	w.retire(old)
	old.opened = next.name
	w.current = next
	w.files = append(w.files, next)
	w.closing = append(w.closing, old)
	w.unsealed++
	w.unflushed = time.Time{}
	w.unsynced = false // Seal of the old file syncs it
	signal(w.closable)
	return filepath.Join(w.path, old.name), filepath.Join(w.path, next.name), nil
}

// signal wakes one receiver, now or when it comes.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// retire takes over the counts of a file that gets no more messages. It is called with mu held.
func (w *Writer) retire(p *part) {
	p.info = p.writer.Info()
	for i, topic := range p.info.Topics {
		w.counts[i] += topic.MessageCount
	}
}
