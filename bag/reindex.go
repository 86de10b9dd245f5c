package bag

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// ReindexOptions are the settings of Reindex.
type ReindexOptions struct {
	// StorageID is the format of the files where their content does not tell; empty for what it tells.
	StorageID string
	// Repair also rewrites every file that is damaged, unfinished or without index.
	Repair bool
	// OnRepaired is called after each file that was rewritten; nil for nobody.
	OnRepaired func(Repaired)
}

// Reindexed is what Reindex found and did.
type Reindexed struct {
	Metadata Metadata
	// Changed tells that metadata.yaml is another one than before.
	Changed bool
	// Kept is where the metadata.yaml that was there before is now; empty when there was none or nothing changed.
	Kept string
	// Notes are sentences about files that were left out, and about what is missing in others.
	Notes []string
	// Lost tells that the bag is not all that was recorded: a file was left out, or has damage.
	Lost bool
	// Repaired are the files that were rewritten.
	Repaired []Repaired
}

// Reindex makes metadata.yaml anew from the files of a bag directory, whatever their names are, and replaces the old one
// in one step. What files do not keep (those of MCAP before Iron, and of SQLite before schema 4) is taken from the
// metadata.yaml that is there; one that says something else is kept beside the new one. A file that can not be read is
// left out, which Reindexed.Lost tells.
func Reindex(ctx context.Context, directory string, options ReindexOptions) (*Reindexed, error) {
	if options.StorageID != "" {
		if _, err := formats.Lookup(options.StorageID); err != nil {
			return nil, fmt.Errorf("reindex: %w", err)
		}
	}
	paths, err := filesForReindex(directory)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := putLogsBack(path); err != nil {
			return nil, fmt.Errorf("reindex %s: %w", directory, err)
		}
	}
	result := &Reindexed{}
	before, text, note := oldMetadata(directory)
	if options.Repair {
		if err := result.repair(ctx, paths, before, options); err != nil {
			return nil, err
		}
	}
	r, err := openFound(directory, ReaderOptions{StorageID: options.StorageID})
	if err != nil {
		return nil, err
	}
	if note != "" {
		result.Notes = append(result.Notes, note)
	}
	if note := r.members[0].fewer(before); note != "" {
		result.Notes = append(result.Notes, note)
	}
	result.Metadata, err = r.reindexed(before)
	result.Notes = append(result.Notes, r.Notes()...)
	result.Lost = result.Lost || r.incomplete(paths)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("reindex %s: %w", directory, err)
	}
	if err := result.replace(directory, before, text); err != nil {
		return nil, fmt.Errorf("reindex %s: %w", directory, err)
	}
	return result, nil
}

// filesForReindex are the files of a bag directory, by content or name.
func filesForReindex(directory string) ([]string, error) {
	info, err := os.Stat(directory)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &NotFoundError{Path: directory}
	case err != nil:
		return nil, fmt.Errorf("reindex: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w: %s is a file", ErrNoDirectory, directory)
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("reindex %s: %w", directory, ErrEmptyDirectory)
	}
	paths := candidates(directory, entries)
	if len(paths) == 0 {
		return nil, fmt.Errorf("reindex %s: %w", directory, ErrNoFiles)
	}
	return paths, nil
}

// fewer says which of the files that metadata.yaml listed are not there any more. Where there are as many files as it
// listed they were renamed.
func (m *member) fewer(before *Metadata) string {
	if before == nil || len(m.files) >= len(before.Paths) {
		return ""
	}
	var missing []string
	for _, listed := range before.Paths {
		path, err := m.resolve(listed)
		if err != nil {
			continue // metadata.yaml names a place out of the bag
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, filepath.Base(path))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	const most = 5
	shown := strings.Join(missing[:min(len(missing), most)], ", ")
	if len(missing) > most {
		shown += ", ..."
	}
	return fmt.Sprintf("%s: %d of %d files that the old metadata.yaml lists are not there: %s", m.path, len(missing), len(before.Paths), shown)
}

// incomplete tells whether a file was left out or has damage that costs messages, as far as can be told.
func (r *Reader) incomplete(paths []string) bool {
	return len(r.files) < len(paths) || slices.ContainsFunc(r.files, func(f *file) bool {
		if !f.damaged {
			return false
		}
		info, err := r.learn(f)
		return err != nil || !info.Harmless
	})
}

// oldMetadata is the metadata.yaml that is there, as it is and understood. A malformed one is as good as none, apart
// from the note.
func oldMetadata(directory string) (before *Metadata, text []byte, note string) {
	path := filepath.Join(directory, MetadataName)
	text, err := readMetadataFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, ""
	}
	if err != nil {
		return nil, nil, fmt.Sprintf("the old metadata is of no use: %v", err)
	}
	m, err := DecodeMetadata(path, text)
	if err != nil {
		return nil, text, fmt.Sprintf("the old metadata is of no use: %v", err)
	}
	return &m, text, ""
}

// reindexed is the metadata of the files, with what only before knows.
func (r *Reader) reindexed(before *Metadata) (Metadata, error) {
	m := r.metadata
	copied := r.members[0].copied
	m.Version = MetadataVersion
	for _, known := range []*Metadata{copied, before} {
		if known == nil {
			continue
		}
		m.addUnknown(known)
		if known == before {
			m.fillOffers(before.Topics)
		}
		if known.Version >= OldestMetadataVersion {
			m.Version = min(known.Version, MetadataVersion)
		}
	}
	if copied != nil && len(copied.Topics) > 0 {
		m.orderTopics(copied.Topics)
	} else if before != nil {
		m.orderTopics(before.Topics)
	}
	said := ""
	for _, known := range []*Metadata{copied, before} {
		if known != nil && said == "" {
			said = known.CompressionMode
		}
	}
	for i, f := range r.files {
		if f.plain != "" && r.readsPlain(f) {
			m.Paths[i] = filepath.Base(f.plain)
		}
	}
	mode, err := r.compressionMode(m.Paths, said)
	m.CompressionMode, m.CompressionFormat = mode, ""
	if mode != "" {
		m.CompressionFormat = CompressionZstd
	}
	return m, err
}

// readsPlain tells whether of a file that is there twice the one without compression is read.
func (r *Reader) readsPlain(f *file) bool {
	reader, err := r.openPlain(f.plain)
	if err != nil {
		return false
	}
	whole := f.whole(reader.Info())
	return reader.Close() == nil && whole
}

// addUnknown takes from another description what is missing in m, without offers: see addOffers. Topics without a
// message are in none of the files when these ended before they were told of them.
func (m *Metadata) addUnknown(other *Metadata) {
	at := topicsByKey(m.Topics)
	for _, topic := range other.Topics {
		key := topicKey{topic.Name, topic.Type}
		i, ok := at[key]
		if !ok {
			topic.MessageCount = 0
			at[key] = len(m.Topics)
			m.Topics = append(m.Topics, topic)
			continue
		}
		known := &m.Topics[i]
		known.TypeHash = cmp.Or(known.TypeHash, topic.TypeHash)
		known.SerializationFormat = cmp.Or(known.SerializationFormat, topic.SerializationFormat)
	}
	m.ROSDistro = cmp.Or(m.ROSDistro, other.ROSDistro)
	custom := maps.Clone(other.CustomData)
	if custom == nil {
		return
	}
	maps.Copy(custom, m.CustomData)
	m.CustomData = custom
}

// orderTopics puts the topics into the order of others; what these do not have comes last.
func (m *Metadata) orderTopics(others []storage.TopicInfo) {
	place := map[topicKey]int{}
	for i, topic := range others {
		place[topicKey{topic.Name, topic.Type}] = i
	}
	at := func(topic storage.TopicInfo) int {
		if i, ok := place[topicKey{topic.Name, topic.Type}]; ok {
			return i
		}
		return len(others)
	}
	m.Topics = slices.Clone(m.Topics)
	slices.SortStableFunc(m.Topics, func(a, b storage.TopicInfo) int { return cmp.Compare(at(a), at(b)) })
}

// compressionMode tells how the files are compressed. Files by their names; messages by their first bytes, since CDR
// never begins like a frame of zstd. Where that tells nothing, what others said of messages is believed.
func (r *Reader) compressionMode(paths []string, said string) (string, error) {
	if slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, packedExtension) }) {
		return CompressionFile, nil
	}
	if said == CompressionFile {
		said = ""
	}
	framed, plain := 0, 0
	count := func(reader storage.Reader) error {
		for id, topic := range reader.Info().Topics {
			if topic.MessageCount == 0 || framed+plain >= enoughPayloads {
				continue
			}
			first, found, err := firstMessage(reader, storage.Query{Topics: []storage.TopicID{storage.TopicID(id)}, Order: storage.ByFile})
			switch {
			case err != nil:
				return err
			case !found:
			case bytes.HasPrefix(first.Data, packedMagic) && (topic.SerializationFormat == "cdr" || said == CompressionMessage):
				framed++
			default:
				plain++
			}
		}
		return nil
	}
	for _, f := range r.files {
		reader, err := r.acquire(f)
		if err != nil {
			return "", err
		}
		if err := errors.Join(count(reader), r.release(f)); err != nil {
			return "", err
		}
	}
	switch {
	case plain > 0:
		return "", nil
	case framed > 0:
		return CompressionMessage, nil
	}
	return said, nil
}

// enoughPayloads is how many topics are asked for the beginning of a message.
const enoughPayloads = 16

// replace puts metadata.yaml in place, unless the one that is there says the same. An old one that says something else
// stays beside it.
func (result *Reindexed) replace(directory string, before *Metadata, old []byte) error {
	text, err := result.Metadata.EncodeVersion(result.Metadata.Version)
	if err != nil {
		return err
	}
	if after, err := DecodeMetadata(MetadataName, text); before != nil && (err != nil || reflect.DeepEqual(*before, after)) {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	if len(old) > 0 {
		result.Kept, err = keepCopy(root, old)
	}
	if err == nil {
		err = writeFile(rootDirectory{root}, MetadataName, text)
		result.Changed = err == nil
	}
	return errors.Join(err, root.Close())
}

// keepCopy writes the old metadata.yaml under the first name that is free, and not again what is kept already.
func keepCopy(root *os.Root, old []byte) (string, error) {
	for n := 0; ; n++ {
		name := MetadataName + ".bak"
		if n > 0 {
			name += "." + strconv.Itoa(n)
		}
		kept, err := root.ReadFile(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return filepath.Join(root.Name(), name), writeFile(rootDirectory{root}, name, old)
		case err == nil && bytes.Equal(kept, old):
			return filepath.Join(root.Name(), name), nil
		case err != nil:
			return "", fmt.Errorf("keep old metadata: %w", err)
		}
	}
}
