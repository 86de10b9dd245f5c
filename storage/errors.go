package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

var (
	// ErrTopicType is returned by AddTopic for a name that is already known with another type or serialization format.
	ErrTopicType = errors.New("topic already has another type")
	// ErrEmpty is returned by Open for a file without a single byte: nothing in it can be recovered.
	ErrEmpty = errors.New("file is empty, nothing can be recovered from it")
	// ErrUnknownStorage is returned for a storage id that no format of this program has.
	ErrUnknownStorage = errors.New("unknown storage id")
	// ErrUnknownFormat is returned for a file whose content is of no known format.
	ErrUnknownFormat = errors.New("not a bag file of a known format")
	// ErrUnsupported is returned for what this program knows by name but can not read or write.
	ErrUnsupported = errors.New("not supported")
	// ErrNotRegular is returned for a directory, a pipe or a device where a file belongs.
	ErrNotRegular = errors.New("not a regular file")
	// ErrSealed is returned by a Writer that was sealed or closed.
	ErrSealed = errors.New("file is already finished")
)

// ErrEndsEarly is the reason of a file, or a part of it, that ends where more should come. It is an io.ErrUnexpectedEOF,
// whose own text means nothing to a user.
var ErrEndsEarly error = endsEarly{}

type endsEarly struct{}

func (endsEarly) Error() string { return "ends too early" }

func (endsEarly) Unwrap() error { return io.ErrUnexpectedEOF }

// CorruptionError says where a file is damaged. A file that ends too early unwraps to io.ErrUnexpectedEOF.
type CorruptionError struct {
	Path   string
	Offset int64 // bytes from the start of the file; -1 when it belongs to no place in it that is known
	Err    error
}

func (e *CorruptionError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: damaged at byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *CorruptionError) Unwrap() error { return e.Err }

// IsCorruption says whether an error is about damage of a file: reading may go on behind it.
func IsCorruption(err error) bool {
	if err == nil { // asked for each message, so nothing is allocated
		return false
	}
	var damage *CorruptionError
	return errors.As(err, &damage)
}

// WithoutPath is the reason of an error of the operating system, for where the path is said already.
func WithoutPath(err error) error {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		return pathError.Err
	case errors.As(err, &linkError):
		return linkError.Err
	}
	return err
}

// RejectedError lists messages of one Write that the format can not hold; the others were written.
type RejectedError struct {
	Indexes []int // positions in the slice given to Write
	Err     error // the reason of the first
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%d message(s) not written: %v", len(e.Indexes), e.Err)
}

func (e *RejectedError) Unwrap() error { return e.Err }

// Add notes that the message at index was rejected. The receiver may be nil; the result replaces it.
func (e *RejectedError) Add(index int, err error) *RejectedError {
	if e == nil {
		e = &RejectedError{Err: err}
	}
	e.Indexes = append(e.Indexes, index)
	return e
}

// OrNil is the error of a Write: nil when nothing was rejected.
func (e *RejectedError) OrNil() error {
	if e == nil {
		return nil
	}
	return e
}
