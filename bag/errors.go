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
	// ErrOutside is told of a path in metadata.yaml that leads out of the bag directory.
	ErrOutside = errors.New("path leads out of the bag directory")
	// ErrGone is returned by a Writer whose directory or file was deleted, or moved where it matters.
	ErrGone = errors.New("deleted or moved while it was being written")
	// ErrSplitSize is returned by Create for a MaxSize below what the storage can do. Its text is rosbag2's.
	ErrSplitSize = errors.New("Invalid bag splitting size given") //nolint:staticcheck // the text is rosbag2's
	// ErrBusy is returned by Split while too many files before wait for the disk; the bag goes on as it was.
	ErrBusy = errors.New("too many files are still being finished")
	// ErrSealed is returned by a Writer that was sealed.
	ErrSealed = errors.New("bag is already finished")
	// ErrNoDirectory is returned by Reindex for a path that is no directory. Its text is rosbag2's.
	ErrNoDirectory = errors.New("Must specify a bag directory") //nolint:staticcheck // the words of rosbag2
	// ErrEmptyDirectory is returned by Reindex for a directory without any file. Its text is rosbag2's.
	ErrEmptyDirectory = errors.New("Empty directory.") //nolint:staticcheck,revive // the words of rosbag2
	// ErrNoFiles is returned by Reindex when no file in the directory is one of a bag. Its text is rosbag2's.
	ErrNoFiles = errors.New("No storage files found for reindexing. Abort") //nolint:staticcheck // the words of rosbag2
	// ErrInUse is returned by Reindex for a file that is to be repaired while another process writes it.
	ErrInUse = errors.New("is being written by another process; end the recording first")
	// ErrNoSpace is returned by Reindex when a repaired file would not fit beside the broken one.
	ErrNoSpace = errors.New("no space left for a repaired copy")
)

// NotFoundError is returned by Open for a path that does not exist. Its text is rosbag2's.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("Bag path '%s' does not exist!", e.Path) }

// Unwrap makes it a fs.ErrNotExist.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// missingFileError is told of a file that metadata.yaml lists and that is not there.
type missingFileError struct{ path string }

func (e *missingFileError) Error() string { return e.path + ": is missing: metadata.yaml lists it" }

func (e *missingFileError) Unwrap() error { return fs.ErrNotExist }
