package bag

import (
	"errors"
	"fmt"
	"math"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// openInputs opens all inputs as one.
func openInputs(inputs []ConvertInput) (*Reader, error) {
	// Compressed files are unpacked first: while they are, the order of their messages is not quite exact.
	options := ReaderOptions{StorageID: inputs[0].StorageID, Config: inputs[0].Config, Unpack: UnpackOptions{StreamAbove: math.MaxInt64}}
	paths := make([]string, 0, len(inputs))
	for _, in := range inputs {
		if in.Config.Path != options.Config.Path {
			return nil, &SettingError{fmt.Errorf("%s: a storage config of its own: %w, give all inputs the same", in.Path, storage.ErrUnsupported)}
		}
		if in.StorageID != "" {
			if _, err := formats.Lookup(in.StorageID); err != nil {
				return nil, fmt.Errorf("open bag: %w", err)
			}
		}
		if in.StorageID != options.StorageID {
			options.StorageID = ""
		}
		paths = append(paths, in.Path)
	}
	r, err := OpenAll(paths, options)
	if err != nil {
		return nil, err
	}
	for i, m := range r.members {
		m.times = inputs[i].Times
		if asked := inputs[i].StorageID; asked != "" && m.metadata.StorageID != "" && asked != m.metadata.StorageID {
			err := fmt.Errorf("open %s as %s: %w: storage %s", m.path, asked, ErrOtherStorage, m.metadata.StorageID)
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// missing compares the files with what the metadata tell, and notes what can not be read of them. What is damaged within
// a file shows when it is read.
func (c *conversion) missing() {
	r := c.reader
	for _, text := range r.leftOut {
		c.lose("%s", text)
	}
	told := map[*file]uint64{}
	for _, f := range r.files {
		if f.told {
			told[f] = f.described.MessageCount
		}
	}
	r.CheckFiles()
	for _, f := range r.files {
		switch {
		case f.refused != nil:
			c.lose("%v", f.refused)
			continue
		case r.wouldUnpack(f):
			continue // what it has shows when its messages come
		}
		reader, err := r.acquire(f)
		if err != nil {
			c.lose("%s: can not be read: %v", f.path, err)
			continue
		}
		info := storage.Outline(reader)
		switch {
		case info.Damage != "":
			c.lose("%s: %s", f.path, info.Damage)
		case info.MessageCount < told[f]:
			c.lose("%s: has %d of the %d messages that metadata.yaml tells", f.path, info.MessageCount, told[f])
		}
		if err := r.release(f); err != nil {
			c.lose("%v", err)
		}
	}
}
