package bag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"rosbagd/storage"
	"rosbagd/storage/compression"
)

// progressStep is how many bytes are unpacked between two reports.
const progressStep = 4 << 20

// unpacking is a file on its way into the cache. What is there already can be read.
type unpacking struct {
	source string // the compressed file
	format storage.Format
	file   *os.File

	mu      sync.Mutex
	grown   *sync.Cond
	path    string // where the unpacked file is: changes once, when it is complete
	bytes   int64
	end     packedEnd
	drained bool  // all of it is there
	err     error // why not

	unplaced error // why it is not in the cache; to be looked at behind unpackCache.wait
}

// unpack begins to unpack a file, or joins the one who does already.
func (c *unpackCache) unpack(path, key string, file *os.File) (*unpacking, error) {
	format, err := detectPacked(path)
	if err != nil {
		return nil, err
	}
	shape, err := measurePacked(path, file, estimateBlocks)
	if err != nil {
		return nil, err
	}
	directory, err := c.directory()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if job := c.running[key]; job != nil {
		return job, nil
	}
	if err := c.context.Err(); err != nil {
		return nil, fmt.Errorf("unpack %s: bag reader: %w", path, fs.ErrClosed)
	}
	if err := c.makeRoom(directory, shape.most); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", path, err)
	}
	source, err := storage.OpenFile(path)
	if err != nil {
		return nil, err
	}
	part, err := os.CreateTemp(directory, key+"-*"+format.Extension+partExtension)
	if err == nil {
		err = lockShared(part)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", path, err), source.Close())
	}
	job := &unpacking{source: path, format: format, file: part, path: part.Name(), end: endWhole}
	job.grown = sync.NewCond(&job.mu)
	c.running[key] = job
	c.used = true
	c.wait.Go(func() {
		job.unplaced = c.run(job, source, shape.most)
		if job.unplaced == nil {
			job.unplaced = job.place(directory, key)
		}
		if job.unplaced != nil {
			_ = os.Remove(part.Name())
		}
	})
	return job, nil
}

func (c *unpackCache) run(job *unpacking, source *os.File, most int64) (err error) {
	defer func() {
		_ = source.Close() // was only read
		job.finish(err)
	}()
	codec, err := compression.Lookup(CompressionZstd)
	if err != nil {
		return err
	}
	unpacked, err := codec.NewReader(source)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	done, err := job.copy(c.context, unpacked, func(bytes int64) {
		if c.options.Progress != nil {
			c.options.Progress(UnpackProgress{Path: job.source, Bytes: bytes, Total: max(most, bytes)})
		}
	})
	if err == nil && c.options.Progress != nil {
		c.options.Progress(UnpackProgress{Path: job.source, Bytes: done, Total: done})
	}
	return err
}

// copy unpacks until the end or the first damage.
func (j *unpacking) copy(ctx context.Context, unpacked io.Reader, report func(int64)) (int64, error) {
	buffer := make([]byte, 1<<20)
	var done, reported int64
	for {
		if ctx.Err() != nil {
			return done, fmt.Errorf("unpack %s: bag reader: %w", j.source, fs.ErrClosed)
		}
		n, readErr := unpacked.Read(buffer)
		if n > 0 {
			if _, err := j.file.Write(buffer[:n]); err != nil {
				return done, fmt.Errorf("unpack %s: %w", j.source, err)
			}
			done += int64(n)
			j.grow(done)
			if done-reported >= progressStep {
				reported = done
				report(done)
			}
		}
		switch {
		case readErr == nil:
		case errors.Is(readErr, io.EOF):
			return done, nil
		case errors.Is(readErr, fs.ErrInvalid), errors.As(readErr, new(*fs.PathError)):
			return done, fmt.Errorf("unpack %s: %w", j.source, readErr)
		default:
			return done, j.damaged()
		}
	}
}

func (j *unpacking) grow(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes = bytes
	j.grown.Broadcast()
}

// damaged finds out why unpacking ended too early; what came before that is good.
func (j *unpacking) damaged() error {
	file, err := storage.OpenFile(j.source)
	if err != nil {
		return err
	}
	defer file.Close()
	shape, err := measurePacked(j.source, file, 0)
	if err != nil || shape.end == endWhole {
		shape.end = endCut
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end = shape.end
	return nil
}

func (j *unpacking) finish(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drained, j.err = true, err
	j.grown.Broadcast()
}

// place makes a complete file an entry of the cache. It is synced first, so that no entry has a name without its data
// after a loss of power; who waits for the file need not wait for that.
func (j *unpacking) place(directory, key string) error {
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("unpack %s: %w", j.source, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	path := filepath.Join(directory, entryName(key, j.end, j.format.Extension))
	if err := os.Rename(j.path, path); err != nil {
		return fmt.Errorf("unpack %s: %w", j.source, err)
	}
	j.path = path
	return nil
}

// open waits until all is unpacked and opens it.
func (j *unpacking) open(options storage.OpenOptions) (storage.Reader, packedEnd, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.drained {
		j.grown.Wait()
	}
	if j.err != nil {
		return nil, "", j.err
	}
	reader, err := j.format.Open(j.path, options)
	return reader, j.end, err
}

func (j *unpacking) isDrained() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.drained
}

// reader reads the unpacked file from its start and waits for what is not there yet.
func (j *unpacking) reader() io.Reader { return &unpackingReader{job: j} }

type unpackingReader struct {
	job *unpacking
	at  int64
}

func (r *unpackingReader) Read(p []byte) (int, error) {
	j := r.job
	j.mu.Lock()
	for r.at >= j.bytes && !j.drained {
		j.grown.Wait()
	}
	there, err := j.bytes-r.at, j.err
	j.mu.Unlock()
	if there == 0 {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	n, err := j.file.ReadAt(p[:min(int64(len(p)), there)], r.at)
	r.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// openPacked opens what is unpacked of a file, and unpacks it first when it must.
func (r *Reader) openPacked(f *file) (opened, error) {
	file, err := storage.OpenFile(f.path)
	if err != nil {
		return opened{}, err
	}
	defer file.Close()
	key, err := cacheKey(f.path, file)
	if err != nil {
		return opened{}, err
	}
	found := r.cache.find(key)
	if found != nil {
		reader, err := r.openPlain(found.path)
		if err == nil {
			r.noteEnd(f, found.end)
			return opened{reader: reader, lock: found.lock}, nil
		}
		return opened{}, errors.Join(err, found.lock.Close())
	}
	job, err := r.cache.unpack(f.path, key, file)
	if err != nil {
		return opened{}, err
	}
	reader, end, err := job.open(storage.OpenOptions{Config: r.options.Config})
	if err != nil {
		return opened{}, err
	}
	r.noteEnd(f, end)
	return opened{reader: reader}, nil
}

// isUnpacked says whether a compressed file is in the cache.
func (r *Reader) isUnpacked(f *file) bool {
	file, err := storage.OpenFile(f.path)
	if err != nil {
		return false
	}
	defer file.Close()
	key, err := cacheKey(f.path, file)
	if err != nil {
		return false
	}
	found := r.cache.find(key)
	if found == nil {
		return false
	}
	_ = found.lock.Close()
	return true
}

func (r *Reader) noteEnd(f *file, end packedEnd) {
	if note := end.note(); note != "" {
		r.addNote("%s: %s", f.path, note)
	}
}
