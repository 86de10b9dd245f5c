package bag

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// UnpackOptions say where and how compressed files are unpacked: never beside the bag.
type UnpackOptions struct {
	// Directory is where unpacked files are kept for the next time. Empty is $ROSBAGD_CACHE_DIR, or else "rosbagd" in
	// the user's cache directory, or else one in the directory for temporary files.
	Directory string
	// MaxBytes bounds what is kept, not what one file may take; those go first that were not used for the longest time.
	// 0 is $ROSBAGD_CACHE_BYTES, or else 10 GB or a fifth of the disk, whichever is less.
	MaxBytes int64
	// StreamAbove is the unpacked size in bytes above which messages are given while the file is still being unpacked,
	// see Reader.Messages. 0 is 64 MiB; with the largest number there is, files are always unpacked first.
	StreamAbove int64
	// Progress is told how far unpacking is, from a goroutine of the Reader; it must not block. Nil is nobody.
	Progress func(UnpackProgress)
}

// UnpackProgress is how far the unpacking of one file is.
type UnpackProgress struct {
	Path  string
	Bytes int64 // unpacked until now
	Total int64 // what it may become at most; equal to Bytes when it is done
}

// The environment variables of the cache.
const (
	CacheDirectoryVariable = "ROSBAGD_CACHE_DIR"
	CacheBytesVariable     = "ROSBAGD_CACHE_BYTES"
)

const (
	defaultCacheBytes  = 10_000_000_000
	defaultStreamAbove = 64 << 20
	partExtension      = ".part"
	// abandonedAge is how old a half unpacked file must be to be taken for one that a dead process left.
	abandonedAge = time.Minute
)

// ErrCacheSpace is returned when a compressed file can not be unpacked for lack of space.
var ErrCacheSpace = errors.New("not enough space to unpack")

// unpackCache is a directory of unpacked files, shared by all processes of a user. An entry is whole from the moment it
// has its name. Whoever reads an entry, or writes one that has no name yet, holds a shared lock on it; who wants to
// remove it needs the exclusive one.
type unpackCache struct {
	options UnpackOptions

	mu      sync.Mutex
	opened  string // the directory, once it was needed
	running map[string]*unpacking
	context context.Context
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	used    bool
}

func newUnpackCache(options UnpackOptions) (*unpackCache, error) {
	if options.MaxBytes == 0 {
		if text := os.Getenv(CacheBytesVariable); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n <= 0 {
				return nil, fmt.Errorf("%s=%q: a number of bytes greater than 0 is expected", CacheBytesVariable, text)
			}
			options.MaxBytes = n
		}
	}
	options.StreamAbove = cmp.Or(options.StreamAbove, defaultStreamAbove)
	c := &unpackCache{options: options, running: map[string]*unpacking{}}
	c.context, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// places are where the directory can be, the best first.
func (c *unpackCache) places() []string {
	if chosen := cmp.Or(c.options.Directory, os.Getenv(CacheDirectoryVariable)); chosen != "" {
		return []string{chosen}
	}
	places := []string{filepath.Join(os.TempDir(), fmt.Sprintf("rosbagd-%d", os.Getuid()))}
	if base, err := os.UserCacheDir(); err == nil {
		places = slices.Insert(places, 0, filepath.Join(base, "rosbagd"))
	}
	return places
}

// directory makes the directory when it is first written to.
func (c *unpackCache) directory() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened != "" {
		return c.opened, nil
	}
	var errs []error
	for _, place := range c.places() {
		err := usable(place)
		if err == nil {
			c.opened = place
			return place, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("create cache directory (%s names another one): %w", CacheDirectoryVariable, errs[0])
}

// usable makes a directory of this user's own and tries whether it can be written.
func usable(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByUser(info) {
		return fmt.Errorf("%s: not a directory of this user", path)
	}
	probe, err := os.CreateTemp(path, "*"+partExtension)
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// cacheKey names a file by where it is, its size, when it was changed and how it begins.
func cacheKey(path string, file *os.File) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open bag file: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("open bag file: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%d\x00%d\x00", absolute, info.Size(), info.ModTime().UnixNano())
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, 4096)); err != nil {
		return "", fmt.Errorf("read bag file: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// entry is an unpacked file that can not be removed until it is closed.
type entry struct {
	path string
	end  packedEnd
	lock *os.File
}

func entryName(key string, end packedEnd, extension string) string {
	return key + "-" + string(end) + extension
}

// find looks for an unpacked file, and creates nothing. It is nil when there is none.
func (c *unpackCache) find(key string) *entry {
	for _, place := range c.places() {
		info, err := os.Lstat(place)
		if err != nil || !ownedByUser(info) {
			continue
		}
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(place), key+"-*")) // the pattern is a good one
		for _, path := range paths {
			word, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), key+"-"), ".")
			end := packedEnd(word)
			if end != endWhole && end != endUnmarked && end != endCut {
				continue
			}
			if lock := lockEntry(path); lock != nil {
				now := time.Now()
				_ = os.Chtimes(path, now, now) // only makes it last longer
				return &entry{path: path, end: end, lock: lock}
			}
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// lockEntry is nil when the entry was removed meanwhile.
func lockEntry(path string) *os.File {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	if lockShared(file) == nil {
		mine, err := file.Stat()
		there, otherErr := os.Stat(path)
		if err == nil && otherErr == nil && os.SameFile(mine, there) {
			return file
		}
	}
	_ = file.Close()
	return nil
}

// makeRoom removes entries that nobody uses until there is room for need bytes within the bound, and says whether the
// disk has them.
func (c *unpackCache) makeRoom(directory string, need int64) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("read cache directory: %w", err)
	}
	var kept []os.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !ownEntry(e.Name()) {
			continue
		}
		if strings.HasSuffix(e.Name(), partExtension) && time.Since(info.ModTime()) < abandonedAge {
			continue
		}
		kept = append(kept, info)
		total += info.Size()
	}
	limit := c.limit(directory)
	// What is larger than the bound goes first: it would not be kept anyway. Then the oldest.
	slices.SortFunc(kept, func(a, b os.FileInfo) int {
		if a.Size() > limit != (b.Size() > limit) {
			return cmp.Compare(b.Size(), a.Size())
		}
		return a.ModTime().Compare(b.ModTime())
	})
	for _, info := range kept {
		free, known := freeBytes(directory)
		if total+need <= limit && (!known || free >= need) {
			break
		}
		if removeEntry(filepath.Join(directory, info.Name())) {
			total -= info.Size()
		}
	}
	if free, known := freeBytes(directory); known && free < need {
		return fmt.Errorf("%w: up to %d bytes are needed in %s, %d are free (%s names another directory)",
			ErrCacheSpace, need, directory, free, CacheDirectoryVariable)
	}
	return nil
}

func (c *unpackCache) limit(directory string) int64 {
	if c.options.MaxBytes > 0 {
		return c.options.MaxBytes
	}
	if size, known := diskBytes(directory); known {
		return min(defaultCacheBytes, size/5)
	}
	return defaultCacheBytes
}

// ownEntry keeps foreign files in the directory safe.
func ownEntry(name string) bool {
	key, _, ok := strings.Cut(name, "-")
	if !ok || len(key) != 32 {
		return false
	}
	_, err := hex.DecodeString(key)
	return err == nil
}

func removeEntry(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return lockExclusive(file) == nil && os.Remove(path) == nil
}

// close stops unpacking and gives up what is more than the bound.
func (c *unpackCache) close() error {
	c.cancel()
	c.wait.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, job := range c.running {
		errs = append(errs, job.file.Close())
	}
	clear(c.running)
	if c.used {
		c.used = false
		if err := c.makeRoom(c.opened, 0); err != nil && !errors.Is(err, ErrCacheSpace) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
