package bag

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrExists is returned by Create for a path that is already there.
	ErrExists = errors.New("bag directory already exists, can't overwrite existing bag")
	// ErrNoBag is returned by Open for a directory with neither metadata.yaml nor a bag file.
	ErrNoBag = errors.New("could not find metadata or bag files in bag directory")
	// ErrMetadata is returned for a metadata.yaml that can not be understood.
	ErrMetadata = errors.New("malformed metadata")
	// ErrOtherStorage is returned by Open for a storage id that is not that of the bag.
	ErrOtherStorage = errors.New("bag is of another storage")
	// ErrGone is returned by a Writer whose directory or file was deleted, or moved where it matters.
	ErrGone = errors.New("deleted or moved while it was being written")
	// ErrSplitSize is returned by Create for a MaxSize below what the storage can do. Its text is rosbag2's.
	ErrSplitSize = errors.New("Invalid bag splitting size given") //nolint:revive,staticcheck // the text is rosbag2's
	// ErrSealed is returned by a Writer that was sealed.
	ErrSealed = errors.New("bag is already finished")
)

// NotFoundError is returned by Open for a path that does not exist. Its text is rosbag2's.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("Bag path '%s' does not exist!", e.Path) }

// Unwrap makes it a fs.ErrNotExist.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }
