package bag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/compression"
	"rosbagd/storage/formats"
)

// VerifyOptions are the settings of Verify.
type VerifyOptions struct {
	// StorageID is the format of the files where their content does not tell; empty for what it tells.
	StorageID string
	// Unpack says where compressed files are unpacked.
	Unpack UnpackOptions
	// Progress is told how many bytes of how many were looked at; nil is nobody. The total can grow.
	Progress func(done, total int64)
}

// Verified sums up what Verify found.
type Verified struct {
	Files    int
	Messages uint64 // that can be read
	Notices  int
	Faults   int
	Damages  int
}

// Sound says that nothing breaks a rule, and nothing is lost.
func (v Verified) Sound() bool { return v.Faults == 0 && v.Damages == 0 }

// maxFindings is how many findings of a severity are told of one file. All are counted.
const maxFindings = 100

// Verify goes through all of a bag, a directory or a single file, and tells what is wrong: with the structure of each
// file, with topics and payloads, and what metadata.yaml says otherwise than the files. It writes nothing to the bag. An
// error is one of reading; whatever the bag is like is told by findings.
func Verify(path string, options VerifyOptions, report func(storage.Finding)) (Verified, error) {
	if options.StorageID != "" {
		if _, err := formats.Lookup(options.StorageID); err != nil {
			return Verified{}, fmt.Errorf("verify bag: %w", err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Verified{}, &NotFoundError{Path: path}
		}
		return Verified{}, fmt.Errorf("verify bag: %w", err)
	}
	cache, err := newUnpackCache(options.Unpack)
	if err != nil {
		return Verified{}, fmt.Errorf("verify bag: %w", err)
	}
	v := verification{
		path: path, options: options, report: report, cache: cache,
		told: map[findingKey]int{}, definitions: map[definitionKey]error{}, types: map[string]typeSeen{},
	}
	if info.IsDir() {
		err = v.directory()
	} else {
		err = v.single()
	}
	for key, n := range v.told {
		if n > maxFindings {
			report(storage.Finding{Severity: key.severity, Path: key.path, Offset: -1, Text: fmt.Sprintf("%d more of these", n-maxFindings)})
		}
	}
	return v.result, errors.Join(err, cache.close())
}

// verification is a bag on its way through Verify.
type verification struct {
	path     string
	options  VerifyOptions
	report   func(storage.Finding)
	cache    *unpackCache
	metadata *Metadata // nil when there is none that can be understood
	result   Verified
	files    []*verifiedFile

	told        map[findingKey]int
	definitions map[definitionKey]error
	types       map[string]typeSeen // by topic
	done, total int64
}

type findingKey struct {
	path     string
	severity storage.Severity
}

func (v *verification) tell(f storage.Finding) {
	switch f.Severity {
	case storage.Notice:
		v.result.Notices++
	case storage.Fault:
		v.result.Faults++
	default:
		v.result.Damages++
	}
	f.Text = storage.Printable(f.Text)
	key := findingKey{f.Path, f.Severity}
	v.told[key]++
	if v.told[key] <= maxFindings {
		v.report(f)
	}
}

func (v *verification) tellf(severity storage.Severity, path string, format string, arguments ...any) {
	v.tell(storage.Finding{Severity: severity, Path: path, Offset: -1, Text: fmt.Sprintf(format, arguments...)})
}

func (v *verification) progress(bytes int64) {
	v.done += bytes
	if v.options.Progress != nil {
		v.options.Progress(v.done, max(v.done, v.total))
	}
}

func (v *verification) single() error {
	return v.verifyFiles([]string{v.path})
}

func (v *verification) directory() error {
	v.readMetadata()
	entries, err := os.ReadDir(v.path)
	if err != nil {
		return fmt.Errorf("verify bag: %w", err)
	}
	there := candidates(v.path, entries)
	paths := there
	if v.metadata != nil {
		paths = v.listedFiles(there)
	}
	if len(paths) == 0 {
		v.tellf(storage.Damage, v.path, "there is no file of a bag")
		return nil
	}
	if err := v.verifyFiles(paths); err != nil {
		return err
	}
	v.compareOrder()
	if v.metadata != nil {
		v.compareMetadata()
	}
	return nil
}

// readMetadata sets metadata when there is one that can be understood.
func (v *verification) readMetadata() {
	path := filepath.Join(v.path, MetadataName)
	data, err := readMetadataFile(path)
	if errors.Is(err, os.ErrNotExist) {
		v.tellf(storage.Fault, path, "is missing: rosbag2 needs it; 'rosbagd reindex' makes it from the files")
		return
	}
	var m Metadata
	if err == nil {
		m, err = DecodeMetadata(path, data)
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), path+":")
		if text[0] >= '0' && text[0] <= '9' {
			text = "line " + text
		}
		v.tellf(storage.Fault, path, "%s", strings.TrimSpace(text))
		return
	}
	if m.Version > MetadataVersion {
		v.tellf(storage.Notice, path, "is of version %d, newer than the %d that is known here", m.Version, MetadataVersion)
	}
	v.metadata = &m
}

// listedFiles are the files that metadata.yaml lists and that are there.
func (v *verification) listedFiles(there []string) []string {
	metadataPath := filepath.Join(v.path, MetadataName)
	m := member{path: v.path, metadata: *v.metadata}
	var paths []string
	for _, listed := range v.metadata.Paths {
		path, err := m.resolve(listed)
		switch {
		case err != nil:
			v.tellf(storage.Fault, metadataPath, "%v", err)
			continue
		case slices.Contains(paths, path):
			v.tellf(storage.Fault, metadataPath, "lists %s twice", listed)
			continue
		}
		if _, err := os.Stat(path); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				v.tellf(storage.Damage, path, "is missing: metadata.yaml lists it")
			} else {
				v.tellf(storage.Damage, path, "can not be read: %v", err)
			}
			continue
		}
		if filepath.Base(path) != filepath.Base(listed) {
			v.tellf(storage.Notice, path, "metadata.yaml lists it as %s", listed)
		}
		paths = append(paths, path)
	}
	for _, path := range there {
		plain := strings.TrimSuffix(path, packedExtension)
		if !slices.Contains(paths, path) && !slices.Contains(paths, plain) {
			v.tellf(storage.Fault, path, "is not listed in metadata.yaml: 'rosbagd reindex' adds it")
		}
	}
	return paths
}

func (v *verification) verifyFiles(paths []string) error {
	for _, path := range paths {
		if size, err := sizeOf(path); err == nil {
			v.total += size
		}
	}
	for _, path := range paths {
		if err := v.verifyFile(path); err != nil {
			return err
		}
	}
	return nil
}

// verifyFile goes through one file.
func (v *verification) verifyFile(path string) error {
	f := &verifiedFile{v: v, path: path, shown: path, counts: []uint64{}}
	v.files = append(v.files, f)
	v.result.Files++
	if v.metadata != nil && v.metadata.CompressionMode == CompressionMessage {
		f.decompress, f.asked = v.messageCodec(), true
	}
	if suffixes, aside, err := strayLogs(path); err == nil && len(suffixes) > 0 {
		v.tellf(storage.Damage, path, "%s", strayLogText(aside+suffixes[0]))
	}
	packed, err := isPacked(path)
	if err != nil {
		v.tellf(storage.Damage, path, "can not be read: %v", err)
		return nil
	}
	content := path
	if packed {
		unpacked, release, err := v.unpack(path)
		if err != nil {
			return err
		}
		if unpacked == "" {
			return nil
		}
		defer release()
		content, f.shown = unpacked, path+" (unpacked)"
	}
	format, err := v.format(content)
	if err != nil {
		v.tell(storage.Finding{Severity: storage.Damage, Path: f.shown, Offset: 0, Text: plainReason(err)})
		return nil
	}
	f.format = format.ID
	if format.Verify == nil {
		return fmt.Errorf("verify %s: storage %s: %w", path, format.ID, storage.ErrUnsupported)
	}
	err = format.Verify(content, storage.Verification{
		Report: func(found storage.Finding) {
			found.Path = f.shown
			v.tell(found)
		},
		Topic: f.topic, Message: f.message, Progress: v.progress,
	})
	f.finish()
	v.result.Messages += f.messages
	if err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	return nil
}

// plainReason is why a file can not be opened, without what a finding says anyway.
func plainReason(err error) string {
	for _, known := range []error{storage.ErrEmpty, storage.ErrUnknownFormat} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// format is that of the content of a file, or else what its bag or its name says it is.
func (v *verification) format(path string) (storage.Format, error) {
	format, err := formats.Detect(path)
	if !errors.Is(err, storage.ErrUnknownFormat) {
		return format, err
	}
	id := v.options.StorageID
	if id == "" && v.metadata != nil {
		id = v.metadata.StorageID
	}
	if asked, err := formats.Lookup(id); err == nil {
		return asked, nil
	}
	return formats.DetectDamaged(path)
}

func (v *verification) messageCodec() func(dst, frame []byte) ([]byte, error) {
	codec, err := compression.Lookup(strings.ToLower(v.metadata.CompressionFormat))
	if err != nil {
		v.tellf(storage.Fault, filepath.Join(v.path, MetadataName), "%v", err)
		return nil
	}
	return codec.Decompress
}

// unpack checks that a compressed file can be unpacked to its end, and gives the unpacked file; an empty path when there
// is none.
func (v *verification) unpack(path string) (unpacked string, release func(), err error) {
	file, err := storage.OpenFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("verify %s: %w", path, err)
	}
	defer file.Close()
	key, err := cacheKey(path, file)
	if err != nil {
		return "", nil, fmt.Errorf("verify %s: %w", path, err)
	}
	found := v.cache.find(key)
	if found == nil {
		job, err := v.cache.unpack(path, key, file)
		if err != nil {
			return "", nil, v.unpackable(path, err)
		}
		v.cache.wait.Wait()
		if found = v.cache.find(key); found == nil {
			return "", nil, fmt.Errorf("verify bag: %w", cmp.Or(job.unplaced, errUnplaced))
		}
	} else if err := decodes(file); err != nil && found.end == endWhole {
		v.tellf(storage.Damage, path, "can not be unpacked: %v", err)
	}
	release = func() { _ = found.lock.Close() } // was only read
	switch found.end {
	case endUnmarked:
		v.tellf(storage.Notice, path, "%s", found.end.note())
	case endCut:
		v.tellf(storage.Damage, path, "%s", found.end.note())
	}
	packedSize, _ := sizeOf(path)
	if size, err := sizeOf(found.path); err == nil {
		v.total += size - packedSize
	}
	return found.path, release, nil
}

// errUnplaced is for an unpacked file that somebody else removed at once.
var errUnplaced = errors.New("the unpacked file was removed from the cache")

// unpackable makes a finding of a file that can not be unpacked, and leaves errors that have other reasons.
func (v *verification) unpackable(path string, err error) error {
	var damage *storage.CorruptionError
	switch {
	case errors.As(err, &damage):
		v.tell(storage.Finding{Severity: storage.Damage, Path: path, Offset: damage.Offset, Text: fmt.Sprintf("can not be unpacked: %v", damage.Err)})
		return nil
	case errors.Is(err, storage.ErrEmpty):
		v.tell(storage.Finding{Severity: storage.Damage, Path: path, Offset: 0, Text: "can not be unpacked: nothing comes out of it"})
		return nil
	case errors.Is(err, storage.ErrUnknownFormat):
		v.tell(storage.Finding{Severity: storage.Damage, Path: path, Offset: 0, Text: "unpacked: " + plainReason(err)})
		return nil
	}
	return fmt.Errorf("verify %s: %w", path, err)
}

// decodes goes through a compressed file without keeping what is in it.
func decodes(file *os.File) error {
	codec, err := compression.Lookup(CompressionZstd)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	unpacked, err := codec.NewReader(file)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	_, err = io.Copy(io.Discard, unpacked)
	return err
}
