package mcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

var (
	errAttachmentSize = errors.New("data has another size than was said")
	errOwnRecord      = errors.New("this record belongs to the bag itself")
)

// sourceError is an attachment's data that could not be read: nothing that the file has to do with.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// WriteAttachment implements storage.ExtraWriter. The data goes through a small buffer. When it can not be read or has
// another size, the attachment alone is missing; any other error is final for the Writer.
func (w *Writer) WriteAttachment(a storage.Attachment) error {
	w.mu.Lock()
	defer w.unlock()
	switch {
	case w.failed != nil:
		return w.failed
	case a.Size < 0:
		return fmt.Errorf("write attachment %q: %w", a.Name, errAttachmentSize)
	case a.LogTimeNanos < 0 || a.CreateTimeNanos < 0:
		return fmt.Errorf("write attachment %q: %w", a.Name, errTime)
	}
	start, crc := w.sink.offset(), w.sink.crc
	err := w.putAttachment(a)
	if err == nil {
		err = w.sink.flush()
	}
	var source sourceError
	switch {
	case err == nil:
	case errors.As(err, &source):
		if err := w.sink.cutBack(start); err != nil {
			return w.fail(start, err)
		}
		w.sink.crc = crc
		return fmt.Errorf("write attachment %q: %w", a.Name, source.error)
	default:
		return w.fail(start, err)
	}
	w.library.Statistics.AttachmentCount++
	w.library.AttachmentIndexes = append(w.library.AttachmentIndexes, &mcaplib.AttachmentIndex{
		Offset: uint64(start), Length: uint64(w.sink.offset() - start), LogTime: uint64(a.LogTimeNanos),
		CreateTime: uint64(a.CreateTimeNanos), DataSize: uint64(a.Size), Name: a.Name, MediaType: a.MediaType,
	})
	return nil
}

// putAttachment writes the record (MCAP specification, Attachment). The library's own needs a CRC always and does not
// tell the two kinds of errors apart.
func (w *Writer) putAttachment(a storage.Attachment) error {
	fields := binary.LittleEndian.AppendUint64(nil, uint64(a.LogTimeNanos))
	fields = binary.LittleEndian.AppendUint64(fields, uint64(a.CreateTimeNanos))
	fields = binary.LittleEndian.AppendUint32(fields, uint32(len(a.Name)))
	fields = append(fields, a.Name...)
	fields = binary.LittleEndian.AppendUint32(fields, uint32(len(a.MediaType)))
	fields = append(fields, a.MediaType...)
	fields = binary.LittleEndian.AppendUint64(fields, uint64(a.Size))
	header := []byte{byte(mcaplib.OpAttachment)}
	header = binary.LittleEndian.AppendUint64(header, uint64(len(fields))+uint64(a.Size)+4)
	if _, err := w.sink.Write(header); err != nil {
		return err
	}
	if _, err := w.sink.Write(fields); err != nil {
		return err
	}
	crc := crc32.ChecksumIEEE(fields)
	buffer := make([]byte, sinkBuffer)
	for left := a.Size; left > 0; {
		part := buffer[:min(left, int64(len(buffer)))]
		if n, err := io.ReadFull(a.Data, part); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: %d bytes of %d", errAttachmentSize, a.Size-left+int64(n), a.Size)
			}
			return sourceError{err}
		}
		if !w.options.NoAttachmentCRC {
			crc = crc32.Update(crc, crc32.IEEETable, part)
		}
		if _, err := w.sink.Write(part); err != nil {
			return err
		}
		left -= int64(len(part))
	}
	if err := atEnd(a.Data); err != nil {
		return sourceError{err}
	}
	if w.options.NoAttachmentCRC {
		crc = 0
	}
	_, err := w.sink.Write(binary.LittleEndian.AppendUint32(nil, crc))
	return err
}

// atEnd checks that nothing follows.
func atEnd(data io.Reader) error {
	if data == nil {
		return nil
	}
	n, err := io.ReadFull(data, make([]byte, 1))
	switch {
	case n > 0:
		return fmt.Errorf("%w: there is more", errAttachmentSize)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// WriteRecord implements storage.ExtraWriter. The name of the bag's own record is refused.
func (w *Writer) WriteRecord(r storage.Record) error {
	w.mu.Lock()
	defer w.unlock()
	if w.failed != nil {
		return w.failed
	}
	if r.Name == metadataRecord {
		return fmt.Errorf("write metadata record %q: %w", r.Name, errOwnRecord)
	}
	start := w.sink.offset()
	err := w.writeRecord(r.Name, r.Values)
	if err == nil {
		err = w.sink.flush()
	}
	if err != nil {
		return w.fail(start, err)
	}
	return nil
}

// writeRecord writes a metadata record. The library does not know of the chunks, so the place is set here.
func (w *Writer) writeRecord(name string, values map[string]string) error {
	start := w.sink.offset()
	if err := w.library.WriteMetadata(&mcaplib.Metadata{Name: name, Metadata: values}); err != nil {
		return err
	}
	indexes := w.library.MetadataIndexes
	indexes[len(indexes)-1].Offset = uint64(start)
	return nil
}
