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

// openWithoutMetadata rebuilds the metadata from the files of the directory.
func (m *member) openWithoutMetadata() error {
	entries, err := os.ReadDir(m.path)
	if err != nil {
		return fmt.Errorf("open bag: %w", err)
	}
	paths := candidates(m.path, entries)
	if len(paths) == 0 {
		return fmt.Errorf("open %s: %w", m.path, ErrNoBag)
	}
	return m.openFiles(paths)
}

// candidates are the files of a bag in a directory, in the order of their names. Of a file that is there compressed and
// not compressed (its writer was killed between the two) the compressed one is listed.
func candidates(directory string, entries []os.DirEntry) []string {
	var paths []string
	for _, entry := range entries {
		path := filepath.Join(directory, entry.Name())
		if !entry.IsDir() && !setAside(entry.Name()) && candidate(path) {
			paths = append(paths, path)
		}
	}
	packed := map[string]struct{}{}
	for _, path := range paths {
		if plain, ok := strings.CutSuffix(path, packedExtension); ok {
			packed[plain] = struct{}{}
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		_, ok := packed[path]
		return ok
	})
	slices.SortFunc(paths, natural)
	return paths
}

// candidate tells whether a file is or should be one of the bag: by its content, or by its name when that tells nothing.
func candidate(path string) bool {
	_, err := formats.Detect(path)
	if errors.Is(err, storage.ErrUnknownFormat) {
		_, err = detectPacked(path)
	}
	if err == nil {
		return true
	}
	if !errors.Is(err, storage.ErrEmpty) && !errors.Is(err, storage.ErrUnknownFormat) && !storage.IsCorruption(err) {
		return false
	}
	_, ok := formats.All().Named(strings.TrimSuffix(path, packedExtension))
	return ok
}

// The names of files, without the mark of file compression: <bag>_<n>.<ext> up to Kilted, <n>_<bag>_<time>.<ext> from
// Lyrical on.
var (
	numberFirst = regexp.MustCompile(`^(\d+)_(.*)_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d(\.[^.]+)$`)
	numberLast  = regexp.MustCompile(`^(.*)_(\d+)(\.[^.]+)$`)
)

// numbered takes the name of a bag file apart. Files of one bag have the same scheme.
func numbered(name string) (scheme string, number uint64, ok bool) {
	name = strings.TrimSuffix(name, packedExtension)
	var text string
	if found := numberFirst.FindStringSubmatch(name); found != nil {
		scheme, text = "#_"+found[2]+found[3], found[1]
	} else if found := numberLast.FindStringSubmatch(name); found != nil {
		scheme, text = found[1]+"_#"+found[3], found[2]
	} else {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text, 10, 62)
	return scheme, number, err == nil
}

// natural orders numbers within names by value: x_9 before x_10.
func natural(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		var partA, partB string
		partA, restA = cutDigits(restA)
		partB, restB = cutDigits(restB)
		an, aErr := strconv.ParseUint(partA, 10, 64)
		bn, bErr := strconv.ParseUint(partB, 10, 64)
		if aErr == nil && bErr == nil && an != bn {
			return cmp.Compare(an, bn)
		}
		if c := cmp.Compare(partA, partB); c != 0 && (aErr != nil || bErr != nil) {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(a, b))
}

// cutDigits cuts a name behind the digits that it begins with, or before the first ones.
func cutDigits(name string) (part, rest string) {
	isDigit := func(i int) bool { return name[i] >= '0' && name[i] <= '9' }
	end := 1
	for end < len(name) && isDigit(end) == isDigit(0) {
		end++
	}
	return name[:end], name[end:]
}

// openFiles rebuilds the metadata from the files themselves. One file that can not be read does not cost the others.
func (m *member) openFiles(paths []string) error {
	m.metadata, m.rebuilt = Metadata{Version: MetadataVersion}, true
	copies := map[*file][]byte{} // of the metadata
	var first error
	for _, path := range paths {
		f, info, err := m.openFile(path)
		if err != nil {
			if first == nil {
				first = err
			}
			m.reader.leave("%s: left out: %v", path, err)
			continue
		}
		copies[f] = info.Metadata
		m.metadata.StorageID = info.StorageID
		m.metadata.ROSDistro = cmp.Or(info.ROSDistro, m.metadata.ROSDistro)
		m.metadata.addCounts(info)
	}
	if len(m.files) == 0 {
		return first
	}
	m.orderFiles()
	for _, f := range m.files {
		m.takeCopy(f.path, copies[f])
		m.metadata.Paths = append(m.metadata.Paths, filepath.Base(f.path))
		m.metadata.Files = append(m.metadata.Files, f.described)
	}
	if m.metadata.CompressionMode == CompressionFile {
		m.metadata.CompressionFormat, m.metadata.CompressionMode = "", ""
	}
	if slices.ContainsFunc(m.files, func(f *file) bool { return strings.HasSuffix(f.path, packedExtension) && f.plain == "" }) {
		m.metadata.CompressionFormat, m.metadata.CompressionMode = CompressionZstd, CompressionFile
	}
	m.metadata.summarize()
	return nil
}

// orderFiles keeps the order of the names as long as no time stamp contradicts it: a file without messages has no other
// place. Where one does, files go by their first message, those without any behind the others.
func (m *member) orderFiles() {
	empty := func(f *file) bool { return f.described.MessageCount == 0 }
	byStart := func(a, b *file) int { return cmp.Compare(a.described.StartNanos, b.described.StartNanos) }
	filled := slices.DeleteFunc(slices.Clone(m.files), empty)
	if slices.IsSortedFunc(filled, byStart) {
		return
	}
	slices.SortStableFunc(filled, byStart)
	m.files = append(filled, slices.DeleteFunc(m.files, func(f *file) bool { return !empty(f) })...)
}

// openFile opens a file on which the metadata says nothing and adds it.
func (m *member) openFile(path string) (*file, storage.Info, error) {
	f := &file{member: m, path: path}
	var err error
	if f.size, err = sizeOf(path); err != nil {
		return nil, storage.Info{}, fmt.Errorf("open bag file: %w", err)
	}
	if plain, ok := strings.CutSuffix(path, packedExtension); ok {
		if _, err := os.Stat(plain); err == nil {
			f.plain = plain
		}
	}
	info, err := m.reader.learn(f)
	if err != nil {
		return nil, storage.Info{}, err
	}
	// rosbag2 describes a compressed file under the name that it has when it is unpacked.
	f.described = fileInfo(strings.TrimSuffix(filepath.Base(path), packedExtension), info)
	m.addFile(f)
	return f, info, nil
}

// takeCopy adds to the metadata what only the copy in a file tells; a later file knows better.
func (m *member) takeCopy(path string, text []byte) {
	if len(text) == 0 {
		return
	}
	copied, err := DecodeMetadata(path, text)
	if err != nil {
		return // the copy is only an extra
	}
	if m.copied == nil || len(copied.Topics) >= len(m.copied.Topics) {
		m.copied = &copied
	}
	if len(copied.CustomData) > 0 {
		m.metadata.CustomData = copied.CustomData
	}
	m.metadata.ROSDistro = cmp.Or(copied.ROSDistro, m.metadata.ROSDistro)
	m.metadata.CompressionFormat, m.metadata.CompressionMode = copied.CompressionFormat, copied.CompressionMode
	m.metadata.addUnknown(&copied)
}

// addCounts adds what a file tells of its topics.
func (m *Metadata) addCounts(info storage.Info) {
	at := topicsByKey(m.Topics)
	for _, topic := range info.Topics {
		topic.Definition = storage.Definition{}
		key := topicKey{topic.Name, topic.Type}
		i, ok := at[key]
		if !ok {
			at[key] = len(m.Topics)
			m.Topics = append(m.Topics, topic)
			continue
		}
		known := &m.Topics[i]
		addMessages(known, topic)
		if len(topic.OfferedQoS) > len(known.OfferedQoS) {
			known.OfferedQoS = topic.OfferedQoS
		}
	}
}
