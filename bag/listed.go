package bag

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rosbagd/storage/formats"
)

// packedExtension is what file compression puts behind the name of a file.
const packedExtension = ".zstd"

func (m *member) openWithMetadata() error {
	r := m.reader
	path := filepath.Join(m.path, MetadataName)
	data, err := readMetadataFile(path)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	metadata, err := DecodeMetadata(path, data)
	if err != nil {
		return err
	}
	if asked := r.options.StorageID; asked != "" && metadata.StorageID != "" && asked != metadata.StorageID {
		return fmt.Errorf("open %s as %s: %w: storage %s", m.path, asked, ErrOtherStorage, metadata.StorageID)
	}
	if metadata.StorageID != "" && r.options.StorageID == "" {
		if _, err := formats.Lookup(metadata.StorageID); err != nil {
			return fmt.Errorf("open bag %s: %w", m.path, err)
		}
	}
	m.metadata = metadata
	notes := len(r.notes)
	trusted := metadata.consistent()
	described := map[string]FileInfo{}
	for _, f := range metadata.Files {
		described[strings.TrimSuffix(f.Path, packedExtension)] = f
	}
	known := map[string]struct{}{}
	found := 0
	for _, listed := range metadata.Paths {
		f := m.listedFile(listed, described, trusted, known)
		if f == nil {
			continue
		}
		if f.size >= 0 {
			found++
		}
		f.size = max(f.size, 0)
		m.addFile(f)
	}
	if found == 0 && m.replaceListed(notes) {
		return nil
	}
	m.doubtEnds()
	m.addNewer()
	return nil
}

// doubtEnds takes the ends of files for later than they are told: rosbag2 (Jazzy) tells too short a duration of the
// first file of a split bag, and metadata.yaml is also written while the last file grows.
func (m *member) doubtEnds() {
	for i, f := range m.files {
		f.endNanos = f.described.EndNanos()
		if i+1 == len(m.files) {
			f.endNanos = math.MaxInt64
		} else if next := m.files[i+1]; next.known {
			f.endNanos = max(f.endNanos, next.described.StartNanos)
		}
	}
}

// listedFile finds a file of the list. Its size is -1 when it is not there. It is nil for one of a path that is known
// already.
func (m *member) listedFile(listed string, described map[string]FileInfo, trusted bool, known map[string]struct{}) *file {
	r := m.reader
	path, err := m.resolve(listed)
	f := &file{path: path, refused: err}
	if err != nil {
		f.size = -1
		r.note("%v", err)
		return f
	}
	if _, ok := known[path]; ok {
		r.note("%s: listed twice in the metadata, read once", path)
		return nil
	}
	known[path] = struct{}{}
	f.described, f.told = described[strings.TrimSuffix(listed, packedExtension)]
	if !f.told && len(m.metadata.Paths) == 1 && len(m.metadata.Files) == 0 {
		f.described = FileInfo{
			Path: listed, StartNanos: m.metadata.StartNanos, Duration: m.metadata.Duration,
			MessageCount: m.metadata.MessageCount,
		}
		f.told = true
	}
	if f.described.Path == "" {
		f.described.Path = listed
	}
	// Otherwise the file is asked before its messages are wanted.
	f.known = f.told && trusted && f.described.MessageCount > 0 && f.described.StartNanos > 0
	if plain, ok := strings.CutSuffix(path, packedExtension); ok {
		if _, err := os.Stat(plain); err == nil {
			f.plain = plain
		}
	}
	f.size, err = sizeOf(path)
	if errors.Is(err, os.ErrNotExist) {
		f.refused = &missingFileError{path}
		err = f.refused
	}
	if err != nil {
		f.size = -1
		r.note("%v", err)
	}
	return f
}

// consistent says whether what is told of the files agrees with what is told of the whole. Where it does not (rosbag2
// has written wrong times for split bags) no file is left out for its times before it was asked itself.
func (m *Metadata) consistent() bool {
	if len(m.Files) == 0 {
		return true
	}
	whole := Metadata{Files: m.Files}
	whole.summarize()
	return whole.MessageCount == m.MessageCount && whole.StartNanos == m.StartNanos && whole.Duration == m.Duration
}

// replaceListed takes the files of the directory when it has none of those that are listed: they have other names now.
// The notes on the listed ones, those from here on, are then of no use.
func (m *member) replaceListed(notesFrom int) bool {
	r := m.reader
	listed, metadata, notes := m.files, m.metadata, r.notes
	m.files, m.metadata, r.notes = nil, Metadata{}, slices.Clone(notes[:notesFrom])
	if err := m.openWithoutMetadata(); err != nil {
		m.files, m.metadata, m.rebuilt, r.notes = listed, metadata, false, notes
		return false
	}
	r.note("%s: has none of the files that its metadata.yaml lists; those that are there are read", m.path)
	if len(metadata.CustomData) > 0 {
		m.metadata.CustomData = metadata.CustomData
	}
	if metadata.ROSDistro != "" {
		m.metadata.ROSDistro = metadata.ROSDistro
	}
	if metadata.CompressionMode == CompressionMessage {
		m.metadata.CompressionMode, m.metadata.CompressionFormat = metadata.CompressionMode, metadata.CompressionFormat
	}
	m.metadata.addOffers(metadata.Topics)
	return true
}

// resolve finds a listed file within the bag directory, and nowhere else: metadata.yaml may come from anybody. Up to
// version 3 paths begin with the name that the directory had, some compressed bags of version 4 too; absolute paths
// were true where the bag was recorded. The first that exists is taken, and a file may have been compressed or unpacked
// since. A symbolic link in the directory is followed: metadata.yaml can not make one.
func (m *member) resolve(listed string) (string, error) {
	slashed := filepath.FromSlash(listed)
	var candidates []string
	if filepath.IsAbs(slashed) {
		if within, ok := m.within(slashed); ok {
			candidates = append(candidates, within)
		}
	} else if filepath.IsLocal(slashed) {
		candidates = append(candidates, filepath.Join(m.path, slashed))
		if _, rest, ok := strings.Cut(slashed, string(filepath.Separator)); ok && filepath.IsLocal(rest) {
			candidates = append(candidates, filepath.Join(m.path, rest))
		}
	}
	refused := len(candidates) == 0
	if base := filepath.Base(slashed); filepath.IsLocal(base) && base != "." {
		candidates = append(candidates, filepath.Join(m.path, base))
	}
	for _, candidate := range candidates {
		plain := strings.TrimSuffix(candidate, packedExtension)
		for _, name := range []string{candidate, plain, plain + packedExtension} {
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				return name, nil
			}
		}
	}
	if refused {
		return listed, fmt.Errorf("%s: %q: %w, it is not read", filepath.Join(m.path, MetadataName), listed, ErrOutside)
	}
	return candidates[0], nil
}

// within makes an absolute path into one below the bag directory as it was given, if that is where it leads.
func (m *member) within(absolute string) (string, bool) {
	directory, err := filepath.Abs(m.path)
	if err != nil {
		return "", false
	}
	relative, err := filepath.Rel(directory, absolute)
	if err != nil || !filepath.IsLocal(relative) || relative == "." {
		return "", false
	}
	return filepath.Join(m.path, relative), true
}

// addNewer adds files that a recording began after it last wrote metadata.yaml.
func (m *member) addNewer() {
	r := m.reader
	known := map[string]struct{}{}
	for _, f := range m.files {
		known[strings.TrimSuffix(f.path, packedExtension)] = struct{}{}
	}
	last := ""
	for _, f := range m.files {
		if f.refused == nil {
			last = f.path
		}
	}
	scheme, number, ok := numbered(filepath.Base(last))
	if !ok {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(last))
	if err != nil {
		return // the listed files tell better what is wrong
	}
	// Names first: of a bag with many files none has to be opened for this.
	entries = slices.DeleteFunc(entries, func(entry os.DirEntry) bool {
		s, n, ok := numbered(entry.Name())
		return !ok || s != scheme || n <= number
	})
	for _, path := range candidates(filepath.Dir(last), entries) {
		if _, listed := known[strings.TrimSuffix(path, packedExtension)]; listed {
			continue
		}
		f, info, err := m.openFile(path)
		if err != nil {
			r.leave("%s: not in the metadata, and can not be read: %v", path, err)
			continue
		}
		r.note("%s: not in the metadata, %d messages added", path, info.MessageCount)
		m.metadata.Paths = append(m.metadata.Paths, filepath.Base(f.path))
		m.metadata.Files = append(m.metadata.Files, f.described)
		m.metadata.addCounts(info)
		m.metadata.summarize()
	}
}
