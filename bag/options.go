package bag

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage"
	"rosbagd/storage/compression"
	"rosbagd/storage/formats"
)

// The default ages; see WriterOptions.
const (
	DefaultFlushAge = time.Second
	DefaultSyncAge  = 5 * time.Second
)

// OldestMetadataVersion is the oldest version that can be written: that of Foxy.
const OldestMetadataVersion = 4

// WriterOptions are the settings of a Writer. The zero WriterOptions are the default.
type WriterOptions struct {
	StorageID     string         // formats.DefaultID when empty
	Preset        string         // storage preset profile
	StorageConfig storage.Config // storage config file, applied over the preset
	// FlushAge: what was written longer ago survives the death of the process. 0 is DefaultFlushAge.
	FlushAge time.Duration
	// SyncAge: what was written longer ago survives a loss of power, as far as the disk keeps up. 0 is DefaultSyncAge.
	SyncAge time.Duration
	// MaxSize in bytes: a message goes into a new file when the current one has this size or more (what is still in
	// memory included). 0 is no limit; less than the format's MinSplit is refused.
	MaxSize int64
	// MaxDuration: a message goes into a new file when it was received more than this after the first message (the one
	// with the smallest log time) of the current one. 0 is no limit.
	MaxDuration time.Duration
	// WaitForDisk: a split waits until the disk has taken enough of the files before, instead of being put off. It is for
	// who has all the time and can not hold the limits otherwise.
	WaitForDisk bool
	FileNames   FileNames
	// CompressionMode is empty, CompressionFile or CompressionMessage (any case; "none" is empty).
	CompressionMode string
	// CompressionFormat of a CompressionMode is the ID of a compression.Codec; empty is the first of them, zstd.
	CompressionFormat string
	// CompressionLevel is on the scale of the format's own tools; 0 is 1, as rosbag2's.
	CompressionLevel int
	// CompressionThreads bounds how many messages, or files, are compressed at a time. 0 is one for each core; for files
	// one less, because messages of the file that is being written come first.
	CompressionThreads int
	// MetadataVersion is written to metadata.yaml and into the files, OldestMetadataVersion to MetadataVersion. 0 is the
	// newest.
	MetadataVersion int
	ROSDistro       string
	CustomData      map[string]string
	// OnSplit is called from Run or Seal when the closed file is final (compressed, if that was asked for) and
	// metadata.yaml names it.
	OnSplit func(closed, opened string)
	Logger  *zap.Logger // nil logs nothing
}

// complete fills in the defaults and refuses what can not be.
func (o WriterOptions) complete(lookup func(id string) (storage.Format, error)) (WriterOptions, storage.Format, error) {
	if o.StorageID == "" {
		o.StorageID = formats.DefaultID
	}
	if o.FlushAge <= 0 {
		o.FlushAge = DefaultFlushAge
	}
	if o.SyncAge <= 0 {
		o.SyncAge = DefaultSyncAge
	}
	if o.MetadataVersion == 0 {
		o.MetadataVersion = MetadataVersion
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	format, err := lookup(o.StorageID)
	if err != nil {
		return o, format, err
	}
	// rosbag2's sentence.
	if o.MaxSize != 0 && o.MaxSize < format.MinSplit {
		return o, format, fmt.Errorf("%w. Please provide a value greater than %d. Specified value of %d",
			ErrSplitSize, format.MinSplit, o.MaxSize)
	}
	if o.MaxDuration < 0 {
		return o, format, fmt.Errorf("split duration %v is negative", o.MaxDuration)
	}
	if o.MetadataVersion < OldestMetadataVersion || o.MetadataVersion > MetadataVersion {
		return o, format, metadataVersionError(o.MetadataVersion)
	}
	if err := o.completeCompression(); err != nil {
		return o, format, err
	}
	return o, format, nil
}

func (o *WriterOptions) completeCompression() error {
	o.CompressionMode = strings.ToUpper(o.CompressionMode)
	switch o.CompressionMode {
	case "", "NONE":
		o.CompressionMode, o.CompressionFormat = "", ""
		return nil
	case CompressionFile, CompressionMessage:
	default:
		return fmt.Errorf("compression mode %q: %w (known: none, file, message)", o.CompressionMode, storage.ErrUnsupported)
	}
	if o.CompressionFormat == "" {
		o.CompressionFormat = compression.All()[0].ID
	}
	codec, err := compression.Lookup(o.CompressionFormat)
	if err != nil {
		return err
	}
	if o.CompressionLevel < 0 || o.CompressionLevel > codec.MaxLevel {
		return fmt.Errorf("compression level %d is not within 1 to %d", o.CompressionLevel, codec.MaxLevel)
	}
	if o.CompressionThreads < 0 {
		return errors.New("number of compression threads is negative")
	}
	return nil
}
