package storage

import "io"

// Attachment is a file within a bag file (MCAP specification, Attachment).
type Attachment struct {
	Name            string
	MediaType       string
	LogTimeNanos    int64 // when it was recorded
	CreateTimeNanos int64 // when it was made; 0 when unknown
	Size            int64 // bytes of Data
	// Data is read once, while the Attachment is handled.
	Data io.Reader
}

// Record is a named map within a bag file that is not the bag's own metadata (MCAP specification, Metadata).
type Record struct {
	Name   string
	Values map[string]string
}

// ExtraReader is a Reader of a format whose files have more than topics and messages.
type ExtraReader interface {
	// Extras visits attachments and records in the order of the file; an error of visit ends it.
	Extras(attachment func(Attachment) error, record func(Record) error) error
}

// ExtraWriter is a Writer of such a format. Its methods belong to the goroutine that calls Write.
type ExtraWriter interface {
	WriteAttachment(Attachment) error
	WriteRecord(Record) error
}
