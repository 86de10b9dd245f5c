package bag

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// ReaderOptions are the settings of Open.
type ReaderOptions struct {
	// StorageID is the format to use instead of the one that metadata or content tell; empty for these.
	StorageID string
	// Config is a storage config file for reading.
	Config storage.Config
}

// Open opens a bag directory, with or without metadata.yaml, or a single bag file. With metadata.yaml no file is opened
// before its messages are wanted.
func Open(path string, options ReaderOptions) (*Reader, error) {
	if options.StorageID != "" {
		if _, err := formats.Lookup(options.StorageID); err != nil {
			return nil, fmt.Errorf("open bag: %w", err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, &NotFoundError{Path: path}
		}
		return nil, fmt.Errorf("open bag: %w", err)
	}
	r := &Reader{path: path, options: options}
	if info.IsDir() {
		err = r.openDirectory()
	} else {
		err = r.openFiles([]string{path})
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.indexTopics()
	return r, nil
}

func (r *Reader) openDirectory() error {
	path := filepath.Join(r.path, MetadataName)
	data, err := readMetadataFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r.openWithoutMetadata()
	}
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	if r.metadata, err = DecodeMetadata(path, data); err != nil {
		return err
	}
	if asked := r.options.StorageID; asked != "" && r.metadata.StorageID != "" && asked != r.metadata.StorageID {
		return fmt.Errorf("open %s as %s: %w: storage %s", r.path, asked, ErrOtherStorage, r.metadata.StorageID)
	}
	if r.metadata.CompressionMode == "" && r.metadata.StorageID != "" && r.options.StorageID == "" {
		if _, err := formats.Lookup(r.metadata.StorageID); err != nil {
			return fmt.Errorf("open bag %s: %w", r.path, err)
		}
	}
	for i, listed := range r.metadata.Paths {
		f := &file{path: r.resolve(listed)}
		for _, described := range r.metadata.Files {
			if described.Path == listed || described.Path == strings.TrimSuffix(listed, ".zstd") {
				f.described, f.known = described, true
			}
		}
		if !f.known && len(r.metadata.Paths) == 1 {
			f.described = FileInfo{
				Path: listed, StartNanos: r.metadata.StartNanos, Duration: r.metadata.Duration,
				MessageCount: r.metadata.MessageCount,
			}
			f.known = len(r.metadata.Files) == 0 && i == 0
		}
		if stat, err := os.Stat(f.path); err != nil {
			r.note("%s: listed in the metadata, but can not be read: %v", f.path, err)
		} else {
			f.size = stat.Size()
		}
		r.files = append(r.files, f)
	}
	return r.addNewer()
}

// resolve finds a listed file. Up to version 3 paths begin with the bag directory's name, some compressed bags of
// version 4 too, and a bag may have been moved or renamed since: the first that exists is taken.
func (r *Reader) resolve(listed string) string {
	inside := filepath.Join(r.path, listed)
	candidates := []string{inside, filepath.Join(filepath.Dir(filepath.Clean(r.path)), listed), filepath.Join(r.path, filepath.Base(listed))}
	if filepath.IsAbs(listed) {
		candidates = []string{listed, candidates[2]}
	} else if r.metadata.Version < 4 {
		candidates[0], candidates[1] = candidates[1], candidates[0]
	}
	for _, candidate := range candidates {
		for _, name := range []string{candidate, strings.TrimSuffix(candidate, ".zstd")} {
			if _, err := os.Stat(name); err == nil {
				return name
			}
		}
	}
	if filepath.IsAbs(listed) {
		return listed
	}
	return inside
}

// addNewer adds files that a recording began after it last wrote metadata.yaml and did not finish.
func (r *Reader) addNewer() error {
	if r.metadata.CompressionMode != "" || len(r.files) == 0 {
		return nil
	}
	last := r.files[len(r.files)-1].path
	prefix, number, ok := numbered(filepath.Base(last))
	if !ok {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(last))
	if err != nil {
		return nil // the listed files tell better what is wrong
	}
	newer := map[uint64]string{}
	for _, entry := range entries {
		p, n, ok := numbered(entry.Name())
		if ok && p == prefix && n > number && filepath.Ext(entry.Name()) == filepath.Ext(last) {
			newer[n] = filepath.Join(filepath.Dir(last), entry.Name())
		}
	}
	for n := number + 1; newer[n] != ""; n++ {
		f, err := r.openFile(newer[n])
		if err != nil {
			r.note("%s: not in the metadata, and can not be read: %v", newer[n], err)
			continue
		}
		r.note("%s: not in the metadata, %d messages added", newer[n], f.described.MessageCount)
		r.files = append(r.files, f)
		r.metadata.Paths = append(r.metadata.Paths, f.described.Path)
		r.metadata.Files = append(r.metadata.Files, f.described)
		r.addCounts(f.reader.Info())
		r.metadata.summarize()
	}
	return nil
}

// numbered takes a file name like rosbag_12.mcap apart.
func numbered(name string) (prefix string, number uint64, ok bool) {
	found := regexp.MustCompile(`^(.*)_(\d+)\.[^.]+$`).FindStringSubmatch(name)
	if found == nil {
		return "", 0, false
	}
	number, err := strconv.ParseUint(found[2], 10, 62)
	return found[1], number, err == nil
}

func (r *Reader) openWithoutMetadata() error {
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return fmt.Errorf("open bag: %w", err)
	}
	paths := candidates(r.path, entries)
	if len(paths) == 0 {
		return fmt.Errorf("open %s: %w", r.path, ErrNoBag)
	}
	return r.openFiles(paths)
}

// candidates are the files of a bag in a directory, in the order of their names.
func candidates(directory string, entries []os.DirEntry) []string {
	var paths []string
	for _, entry := range entries {
		path := filepath.Join(directory, entry.Name())
		if !entry.IsDir() && !setAside(entry.Name()) && candidate(path) {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, natural)
	return paths
}

// candidate tells whether a file is or should be one of the bag: by its content, or by its name when that tells nothing.
func candidate(path string) bool {
	_, err := formats.Detect(path)
	if err == nil {
		return true
	}
	if !errors.Is(err, storage.ErrEmpty) && !errors.Is(err, storage.ErrUnknownFormat) {
		return false
	}
	return slices.ContainsFunc(formats.All(), func(f storage.Format) bool { return f.Extension == filepath.Ext(path) })
}

// natural orders numbers within names by value: x_9 before x_10.
func natural(a, b string) int {
	digits := regexp.MustCompile(`\d+|\D+`)
	as, bs := digits.FindAllString(a, -1), digits.FindAllString(b, -1)
	for i := range min(len(as), len(bs)) {
		an, aErr := strconv.ParseUint(as[i], 10, 64)
		bn, bErr := strconv.ParseUint(bs[i], 10, 64)
		if aErr == nil && bErr == nil && an != bn {
			return cmp.Compare(an, bn)
		}
		if c := cmp.Compare(as[i], bs[i]); c != 0 && (aErr != nil || bErr != nil) {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(a, b))
}

// openFiles rebuilds the metadata from the files themselves. One file that can not be read does not cost the others.
func (r *Reader) openFiles(paths []string) error {
	var first error
	for _, path := range paths {
		f, err := r.openFile(path)
		if err != nil {
			if first == nil {
				first = err
			}
			r.note("%s: left out: %v", path, err)
			continue
		}
		r.files = append(r.files, f)
	}
	if len(r.files) == 0 {
		return first
	}
	r.orderFiles()
	r.rebuild()
	return nil
}

// orderFiles keeps the order of the names as long as no time stamp contradicts it: a file without messages has no other
// place. Where one does, files go by their first message, those without any behind the others.
func (r *Reader) orderFiles() {
	empty := func(f *file) bool { return f.described.MessageCount == 0 }
	byStart := func(a, b *file) int { return cmp.Compare(a.described.StartNanos, b.described.StartNanos) }
	filled := slices.DeleteFunc(slices.Clone(r.files), empty)
	if slices.IsSortedFunc(filled, byStart) {
		return
	}
	slices.SortStableFunc(filled, byStart)
	r.files = append(filled, slices.DeleteFunc(r.files, func(f *file) bool { return !empty(f) })...)
}

func (r *Reader) rebuild() {
	r.metadata = Metadata{Version: MetadataVersion}
	for _, f := range r.files {
		info := f.reader.Info()
		r.metadata.StorageID = info.StorageID
		if info.ROSDistro != "" {
			r.metadata.ROSDistro = info.ROSDistro
		}
		r.metadata.Paths = append(r.metadata.Paths, f.described.Path)
		r.metadata.Files = append(r.metadata.Files, f.described)
		r.addCounts(info)
		if copied, err := DecodeMetadata(f.path, info.Metadata); err == nil && len(info.Metadata) > 0 {
			if len(copied.CustomData) > 0 {
				r.metadata.CustomData = copied.CustomData
			}
			r.metadata.ROSDistro = cmp.Or(copied.ROSDistro, r.metadata.ROSDistro)
			r.metadata.CompressionFormat, r.metadata.CompressionMode = copied.CompressionFormat, copied.CompressionMode
			r.addOffers(copied.Topics)
		}
	}
	if r.metadata.CompressionMode == CompressionFile {
		// The files at hand are no longer compressed, or they would not have been recognised.
		r.metadata.CompressionFormat, r.metadata.CompressionMode = "", ""
	}
	r.metadata.summarize()
}

// addCounts adds what a file tells of its topics.
func (r *Reader) addCounts(info storage.Info) {
	for _, topic := range info.Topics {
		topic.Definition = storage.Definition{}
		at := slices.IndexFunc(r.metadata.Topics, func(t storage.TopicInfo) bool {
			return t.Name == topic.Name && t.Type == topic.Type
		})
		if at < 0 {
			r.metadata.Topics = append(r.metadata.Topics, topic)
			continue
		}
		known := &r.metadata.Topics[at]
		known.MessageCount += topic.MessageCount
		if len(topic.OfferedQoS) > len(known.OfferedQoS) {
			known.OfferedQoS = topic.OfferedQoS
		}
	}
}

// addOffers takes offers from the copy of the metadata in a file: it may know of publishers that came later.
func (r *Reader) addOffers(topics []storage.TopicInfo) {
	for _, topic := range topics {
		for i := range r.metadata.Topics {
			known := &r.metadata.Topics[i]
			if known.Name == topic.Name && known.Type == topic.Type && len(topic.OfferedQoS) > len(known.OfferedQoS) {
				known.OfferedQoS = topic.OfferedQoS
			}
		}
	}
}
