package bag

import (
	"errors"
	"fmt"

	"rosbagd/storage"
)

// extras moves attachments and records, which belong to no topic and no time, to the file that each output has at the
// moment. Compressed files are left for later: they are unpacked when their messages are read. Those that are left are
// returned.
func (c *conversion) extras(files []*file, unpack bool) (later []*file, err error) {
	for _, f := range files {
		if !unpack && c.reader.wouldUnpack(f) {
			later = append(later, f)
			continue
		}
		if err := c.extrasOf(f); err != nil {
			return nil, err
		}
	}
	return later, nil
}

func (c *conversion) extrasOf(f *file) (err error) {
	reader, err := c.reader.acquire(f)
	if err != nil {
		return nil // told when its messages are read
	}
	defer func() { err = errors.Join(err, c.reader.release(f)) }()
	from, ok := reader.(storage.ExtraReader)
	if !ok {
		return nil
	}
	for _, out := range c.outputs {
		to, ok := out.writer.current.writer.(storage.ExtraWriter)
		if !ok {
			if err := c.leaveExtras(f, out, from); err != nil {
				return err
			}
			continue
		}
		var failed error // of writing, which is final; one of reading is not
		err := from.Extras(
			func(a storage.Attachment) error { failed = to.WriteAttachment(a); return failed },
			func(r storage.Record) error { failed = to.WriteRecord(r); return failed },
		)
		if failed != nil {
			return failed
		}
		if err != nil {
			c.lose("%v", err)
		}
	}
	return nil
}

// leaveExtras says what an output can not have.
func (c *conversion) leaveExtras(f *file, out *output, from storage.ExtraReader) error {
	attachments, records := 0, 0
	err := from.Extras(
		func(storage.Attachment) error { attachments++; return nil },
		func(storage.Record) error { records++; return nil },
	)
	if err != nil {
		c.lose("%v", err)
	}
	for _, left := range []struct {
		n    int
		what string
	}{{attachments, "attachment(s)"}, {records, "metadata record(s)"}} {
		if left.n > 0 {
			c.note("%s: %s of %s left out, storage %s has none", out.Path, fmt.Sprintf("%d %s", left.n, left.what), f.path, out.writer.format.ID)
		}
	}
	return nil
}
