package mcap

import (
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// extraRef is where an attachment or a metadata record lies.
type extraRef struct {
	op     mcaplib.OpCode
	offset int64
}

// Extras implements storage.ExtraReader. The metadata records that rosbag2 writes itself are left out. An attachment is
// streamed; when its checksum is wrong, reading its Data ends with a *storage.CorruptionError instead of io.EOF. What can
// not be read at all is passed over and makes a *storage.CorruptionError at the end.
func (r *Reader) Extras(attachment func(storage.Attachment) error, record func(storage.Record) error) error {
	extras, err := r.extras()
	if err != nil {
		return err
	}
	var damaged []error
	for _, extra := range extras {
		visit, err := r.extra(extra, attachment, record)
		if storage.IsCorruption(err) {
			damaged = append(damaged, err)
			continue
		}
		if err == nil {
			err = visit()
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(damaged...)
}

// extra reads an attachment or a record, and gives what hands it to the visitor.
func (r *Reader) extra(
	extra extraRef, attachment func(storage.Attachment) error, record func(storage.Record) error,
) (visit func() error, err error) {
	w := window{source: r.source, step: 1}
	rec, err := w.record(extra.offset, r.size)
	if err != nil {
		return nil, err
	}
	if rec.op != extra.op {
		return nil, r.corrupt(extra.offset, errNoRecord)
	}
	if extra.op == mcaplib.OpAttachment {
		return r.visitAttachment(rec, attachment)
	}
	body, err := w.body(rec)
	if err != nil {
		return nil, err
	}
	parsed, err := mcaplib.ParseMetadata(body)
	if err != nil {
		return nil, r.corrupt(rec.offset, err)
	}
	return func() error {
		if parsed.Name == metadataRecord {
			return nil
		}
		return record(storage.Record{Name: parsed.Name, Values: parsed.Metadata})
	}, nil
}

func (r *Reader) extras() ([]extraRef, error) {
	r.locating.Lock()
	defer r.locating.Unlock()
	if !r.contents.extrasKnown {
		found, err := scanFile(r, r.size)
		if err != nil {
			return nil, err
		}
		r.contents.extras, r.contents.extrasKnown = found.extras, true
	}
	return r.contents.extras, nil
}

// attachmentHead is an attachment record without its data (MCAP specification, Attachment).
type attachmentHead struct {
	logTime, createTime uint64
	name, mediaType     string
	dataLen             uint64
}

// dataAt is where the data begins; only the checksum follows it.
func (h attachmentHead) dataAt(rec record) int64 { return rec.end() - 4 - int64(h.dataLen) }

// maxHead bounds name and media type of an attachment.
const maxHead = 1 << 20

// readAttachmentHead reads the fields in front of the data, all of whose lengths must add up to that of the record.
func readAttachmentHead(src source, rec record) (attachmentHead, error) {
	var head attachmentHead
	var err error
	for _, want := range []int64{512, maxHead} { // names are short, mostly
		body, sliceErr := src.slice(rec.body(), min(rec.length, want))
		if sliceErr != nil {
			return attachmentHead{}, sliceErr
		}
		fields := cursor{rest: body}
		head = attachmentHead{
			logTime: fields.uint64(), createTime: fields.uint64(), name: fields.text(), mediaType: fields.text(),
		}
		head.dataLen = fields.uint64()
		err = fields.err
		if fixed := int64(len(body) - len(fields.rest) + 4); err == nil {
			if rec.length < fixed || head.dataLen != uint64(rec.length-fixed) {
				err = io.ErrUnexpectedEOF
			}
			break
		}
	}
	if err != nil {
		return head, src.corrupt(rec.offset, fmt.Errorf("attachment: %w", err))
	}
	return head, nil
}

func (r *Reader) visitAttachment(rec record, visit func(storage.Attachment) error) (func() error, error) {
	head, err := readAttachmentHead(r.source, rec)
	if err != nil {
		return nil, err
	}
	data, err := r.attachmentData(rec, head)
	if err != nil {
		return nil, err
	}
	return func() error {
		return visit(storage.Attachment{
			Name: head.name, MediaType: head.mediaType, LogTimeNanos: nanos(head.logTime),
			CreateTimeNanos: nanos(head.createTime), Size: int64(head.dataLen), Data: data,
		})
	}, nil
}

// attachmentData reads the data of an attachment. The checksum is of everything from the first field to the data.
func (r *Reader) attachmentData(rec record, head attachmentHead) (io.Reader, error) {
	trailer, err := r.slice(rec.end()-4, 4)
	if err != nil {
		return nil, err
	}
	at := head.dataAt(rec)
	data := io.NewSectionReader(r.file, at, int64(head.dataLen))
	c := cursor{rest: trailer}
	want := c.uint32()
	if want == 0 { // there is none
		return data, nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, rec.body(), at-rec.body())); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.path, err)
	}
	return &checkedData{from: data, sum: sum, want: want, wrong: r.corrupt(rec.offset, errChecksum)}, nil
}

// checkedData compares the checksum when all was read.
type checkedData struct {
	from  io.Reader
	sum   hash.Hash32
	want  uint32
	wrong error
}

func (d *checkedData) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	_, _ = d.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && d.sum.Sum32() != d.want {
		return n, d.wrong
	}
	return n, err
}
