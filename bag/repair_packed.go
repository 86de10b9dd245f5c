package bag

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/compression"
)

// repairPacked is repairFile for a file that is compressed as a whole. What can be unpacked of it is repaired and
// compressed again.
func repairPacked(ctx context.Context, path, storageID string) (repaired *Repaired, err error) {
	r, err := newReader(path, ReaderOptions{StorageID: storageID})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	format, err := detectPacked(path)
	if err != nil {
		return nil, nil //nolint:nilerr // reindexing names what it leaves out
	}
	f := &file{path: path}
	r.files = []*file{f}
	if f.opened, err = r.openPacked(f); err != nil {
		if errors.Is(err, ErrCacheSpace) {
			return nil, err
		}
		return nil, nil //nolint:nilerr // reindexing names what it leaves out
	}
	reason := strings.TrimPrefix(strings.Join(r.Notes(), "; "), path+": ")
	cut := strings.Contains(reason, endCut.note())
	if damage := f.reader.Info().Damage; damage != "" {
		reason = sentences(reason, damage)
	} else if reason == "" {
		var read salvage
		if err := read.messages(ctx, f.reader, func(storage.Message) error { return nil }); err != nil {
			return nil, err
		}
		reason = read.missing()
	}
	if reason == "" {
		return nil, nil
	}
	repaired = &Repaired{Path: path, Reason: reason, pack: true}
	if err := repaired.rewrite(ctx, format, f.reader); err != nil {
		return nil, err
	}
	if cut && repaired.Missing == "" {
		repaired.Missing = endCut.note()
	}
	return repaired, nil
}

// packRepaired compresses a file in its place.
func packRepaired(ctx context.Context, path string) error {
	codec, err := compression.Lookup(CompressionZstd)
	if err != nil {
		return err
	}
	directory, err := openDirectory(filepath.Dir(path))
	if err != nil {
		return err
	}
	packed := strings.TrimSuffix(path, temporaryExtension) + codec.Extension + temporaryExtension
	c := fileCompressor{directory: directory, codec: codec}
	err = errors.Join(c.write(ctx, filepath.Base(path), filepath.Base(packed)), directory.Close())
	if err == nil {
		err = os.Rename(packed, path)
	}
	if err != nil {
		_ = os.Remove(packed) // it may never have been there
	}
	return err
}
