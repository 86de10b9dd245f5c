package bag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// Repaired is one file that was rewritten.
type Repaired struct {
	Path   string
	Broken string // where the file is now as it was before
	Reason string // what was wrong with it
	Kept   uint64 // messages in the new file
	// Missing says what could not be read; empty when nothing is known to be missing.
	Missing string

	pack bool // the file is compressed as a whole
	// faults is how many rules of the format the file breaks, of which every message can be read; 0 when it is damaged.
	faults int
}

// repair rewrites the files that are not whole. Those that can not be opened at all are left for the caller to name.
func (result *Reindexed) repair(ctx context.Context, paths []string, before *Metadata, options ReindexOptions) error {
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		repaired, err := repairFile(ctx, path, options.StorageID)
		if err != nil {
			return fmt.Errorf("repair %s: %w", path, err)
		}
		if repaired == nil {
			continue
		}
		if before != nil {
			repaired.compare(before.Files)
		}
		result.Repaired = append(result.Repaired, *repaired)
		result.Lost = result.Lost || repaired.Missing != ""
		if options.OnRepaired != nil {
			options.OnRepaired(*repaired)
		}
	}
	return nil
}

// compare adds how many messages metadata.yaml tells of that were not found. It may have been made from the damaged file,
// so fewer that it tells of prove nothing.
func (repaired *Repaired) compare(files []FileInfo) {
	plain := func(path string) string { return strings.TrimSuffix(filepath.Base(path), packedExtension) }
	for _, told := range files {
		if plain(told.Path) == plain(repaired.Path) && told.MessageCount > repaired.Kept {
			lost := told.MessageCount - repaired.Kept
			repaired.Missing = sentences(fmt.Sprintf("%d of %d messages", lost, told.MessageCount), repaired.Missing)
		}
	}
}

// repairFile returns nil for a file that is whole, and for one that can not be opened.
func repairFile(ctx context.Context, path, storageID string) (*Repaired, error) {
	if packed, err := isPacked(path); err == nil && packed {
		return repairPacked(ctx, path, storageID)
	}
	format, err := formats.Lookup(storageID)
	if storageID == "" {
		format, err = formats.DetectDamaged(path)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // reindexing names what it leaves out
	}
	reader, err := format.Open(path, storage.OpenOptions{})
	if err != nil {
		return nil, nil //nolint:nilerr // reindexing names what it leaves out
	}
	reason, faults, err := broken(format, path, reader)
	repaired := &Repaired{Path: path, Reason: reason}
	if err == nil && faults.count > 0 {
		// What the file says of itself is what is wrong with it.
		repaired.Reason, repaired.faults, repaired.Kept = faults.first, faults.count, faults.messages
		err = reader.Close()
		if err == nil {
			reader, err = format.Open(path, storage.OpenOptions{Scan: true})
		}
		if err != nil {
			return nil, err
		}
	}
	if err == nil && repaired.Reason != "" {
		err = repaired.rewrite(ctx, format, reader)
	}
	err = errors.Join(err, reader.Close())
	if err != nil || repaired.Broken == "" {
		return nil, err
	}
	return repaired, nil
}

// rewrite puts a whole file in place of the broken one.
func (repaired *Repaired) rewrite(ctx context.Context, format storage.Format, reader storage.Reader) error {
	path := repaired.Path
	if beingWritten(path) {
		return ErrInUse
	}
	if err := roomFor(path); err != nil {
		return err
	}
	temporary := path + repairExtension
	removeFile(format, temporary) // of a repair that was ended
	err := repaired.write(ctx, format, temporary, reader)
	if errors.Is(err, errNothingMended) {
		removeFile(format, temporary)
		return nil
	}
	if err == nil && repaired.pack {
		err = packRepaired(ctx, temporary)
	}
	if err == nil {
		repaired.Broken, err = swap(format, path, temporary)
	}
	if err != nil {
		removeFile(format, temporary)
	}
	return err
}

// roomFor makes sure that a second file of this size fits beside it. Where that can not be told, writing finds out.
func roomFor(path string) error {
	need, err := sizeOf(path)
	if err != nil {
		return err
	}
	if free, known := freeBytes(filepath.Dir(path)); known && free < need {
		return fmt.Errorf("%w: %d bytes are free, it may take %d", ErrNoSpace, free, need)
	}
	return nil
}

// repairExtension is put behind the name of a file that is written to replace it.
const repairExtension = ".repair" + temporaryExtension

// faults are the rules that a file breaks although every message in it can be read.
type faults struct {
	count    int
	first    string
	messages uint64 // in the file
}

// broken says in a sentence why a file needs repair; empty for a whole one, which may have faults. All of the file is
// read, since damage in its middle shows in no other way.
func broken(format storage.Format, path string, reader storage.Reader) (string, faults, error) {
	info := reader.Info()
	switch {
	case info.Damage != "":
		return info.Damage, faults{}, nil
	case info.Unindexed:
		return "has no index", faults{}, nil
	case info.Journal:
		return "has a journal beside it that was never taken in", faults{}, nil
	}
	if format.Verify == nil {
		var read salvage
		err := read.messages(context.Background(), reader, func(storage.Message) error { return nil })
		return read.missing(), faults{}, err
	}
	damage, found, err := examine(format, path)
	if damage != "" {
		found = faults{}
	}
	return damage, found, err
}

// examine gives the first damage of a file, and its faults.
func examine(format storage.Format, path string) (damage string, found faults, err error) {
	err = format.Verify(path, storage.Verification{
		Report: func(f storage.Finding) {
			text := strings.TrimPrefix(f.String(), f.Path+": ")
			switch {
			case f.Severity == storage.Damage && damage == "":
				damage = text
			case f.Severity == storage.Fault:
				if found.count++; found.count == 1 {
					found.first = text
				}
			}
		},
		Topic:    func(storage.Topic, int64, int64) {},
		Message:  func(storage.Message, int64) { found.messages++ },
		Progress: func(int64) {},
	})
	return damage, found, err
}

// errNothingMended says that a new file would be no better than the old one, in which every message can be read.
var errNothingMended = errors.New("the new file has the same faults")

// worthwhile makes sure that the new file of one that has faults only has fewer, and all that the old one has.
func (repaired *Repaired) worthwhile(format storage.Format, temporary string, messages uint64) error {
	damage, left, err := examine(format, temporary)
	if err == nil && (damage != "" || left.count >= repaired.faults || left.messages != messages || repaired.Missing != "") {
		err = errNothingMended
	}
	return err
}

// write makes the repaired file under a temporary name and checks that it is whole.
func (repaired *Repaired) write(ctx context.Context, format storage.Format, temporary string, reader storage.Reader) error {
	info := reader.Info()
	options := storage.CreateOptions{ROSDistro: info.ROSDistro, Metadata: info.Metadata}
	copied, err := DecodeMetadata(repaired.Path, info.Metadata)
	if err == nil && copied.Version >= OldestMetadataVersion {
		options.MetadataVersion = min(copied.Version, MetadataVersion)
	}
	if configured, ok := reader.(storage.Configured); ok {
		config, err := configured.Config()
		if err != nil {
			return err
		}
		options.Config = config
	}
	writer, err := format.Create(temporary, options)
	if err != nil {
		return err
	}
	messages := repaired.Kept
	salvaged := salvage{single: repaired.faults > 0}
	if err := salvaged.copyFile(ctx, reader, writer); err != nil {
		return errors.Join(err, writer.Close())
	}
	repaired.Missing = salvaged.missing()
	if !info.Harmless {
		repaired.Missing = sentences(info.Damage, repaired.Missing)
	}
	written := writer.Info()
	repaired.Kept = written.MessageCount
	inner, err := copyOfMetadata(repaired.Path, info, written)
	if err != nil {
		return errors.Join(err, writer.Close())
	}
	if err := writer.Seal(inner); err != nil {
		return errors.Join(err, writer.Close())
	}
	if err := checkRepaired(format, temporary, written); err != nil || repaired.faults == 0 {
		return err
	}
	return repaired.worthwhile(format, temporary, messages)
}

// copyOfMetadata is the bag's metadata for a file that had a copy of it: what that says of the bag, and what the new file
// has.
func copyOfMetadata(path string, before, written storage.Info) ([]byte, error) {
	copied, err := DecodeMetadata(path, before.Metadata)
	if err != nil {
		return nil, nil //nolint:nilerr // a file without a copy, or with one that nobody can read, gets none
	}
	m := Metadata{
		Version: copied.Version, StorageID: written.StorageID, CompressionFormat: copied.CompressionFormat,
		CompressionMode: copied.CompressionMode, Paths: []string{filepath.Base(path)}, Topics: written.Topics,
		Files: []FileInfo{fileInfo(filepath.Base(path), written)},
	}
	m.addUnknown(&copied)
	m.orderTopics(copied.Topics)
	m.summarize()
	return m.EncodeInnerVersion(min(max(m.Version, OldestMetadataVersion), MetadataVersion))
}

func checkRepaired(format storage.Format, path string, written storage.Info) error {
	reader, err := format.Open(path, storage.OpenOptions{})
	if err != nil {
		return err
	}
	info := reader.Info()
	if info.Damage != "" || info.MessageCount != written.MessageCount {
		err = fmt.Errorf("the new file has %d of %d messages: %s", info.MessageCount, written.MessageCount, info.Damage)
	}
	return errors.Join(err, reader.Close())
}

// swap puts the repaired file in place of the broken one, which stays under another name. Whenever this is ended, one of
// the two has the right name. Between the renaming of a log and that of the new database, the old one is without it: a new
// one beside an old log would be worse, since SQLite would take it in. putLogsBack finds this.
func swap(format storage.Format, path, repaired string) (aside string, err error) {
	aside, err = brokenName(path)
	if err != nil {
		return "", err
	}
	if err := linkOrCopy(path, aside); err != nil {
		return "", fmt.Errorf("keep broken file: %w", err)
	}
	// A companion belongs to the file of its name: the new one must never be seen with that of the old one.
	for _, suffix := range format.Companions {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("keep broken file: %w", err)
		}
	}
	if err := storage.SyncDirectory(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := os.Rename(repaired, path); err != nil {
		return "", fmt.Errorf("put repaired file in place: %w", err)
	}
	return aside, storage.SyncDirectory(filepath.Dir(path))
}

// brokenName is a free name beside the file, or that of a repair which was ended before it was done.
func brokenName(path string) (string, error) {
	ours, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		name := brokenCandidate(path, n)
		there, err := os.Lstat(name)
		if errors.Is(err, os.ErrNotExist) || (err == nil && os.SameFile(ours, there)) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// brokenCandidate is the name under which the original of a file is kept; from 1 on when others are there already.
func brokenCandidate(path string, n int) string {
	if n == 0 {
		return path + ".broken"
	}
	return path + ".broken." + strconv.Itoa(n)
}

// linkOrCopy gives a file a second name, or makes a copy where the file system has no second names.
func linkOrCopy(path, name string) error {
	err := os.Link(path, name)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name+temporaryExtension, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(name+temporaryExtension))
	}
	return os.Rename(name+temporaryExtension, name)
}

// removeFile removes an unfinished file with its companions.
func removeFile(format storage.Format, path string) {
	_ = os.Remove(path) // what stays behind is found by the next Create
	for _, suffix := range format.Companions {
		_ = os.Remove(path + suffix)
	}
}

var asideNames = regexp.MustCompile(`\.(broken(\.\d+)?|tmp)$`)

// setAside tells names that are no part of the bag: broken originals of repaired files, and files that were never
// finished.
func setAside(name string) bool {
	for _, format := range formats.All() {
		for _, suffix := range format.Companions {
			if of, ok := strings.CutSuffix(name, suffix); ok {
				return asideNames.MatchString(of)
			}
		}
	}
	return asideNames.MatchString(name)
}
