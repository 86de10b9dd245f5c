package mcap

import (
	"fmt"
	"math"

	"rosbagd/storage"
)

// Compression is how the records of a chunk are compressed.
type Compression string

// The compressions of the MCAP registry.
const (
	CompressionNone Compression = ""
	CompressionLZ4  Compression = "lz4"
	CompressionZstd Compression = "zstd"
)

// Level trades time for size; each compression has its own steps for it. The words are those of rosbag2's key
// compressionLevel; Fast is the same as Fastest where a compression has no step in between.
type Level int

// The levels; the zero value is LevelDefault.
const (
	LevelDefault Level = iota
	LevelFastest
	LevelFast
	LevelSlow
	LevelSlowest
)

// DefaultChunkSize is the size at which a chunk is cut, before compression.
const DefaultChunkSize = 1 << 20

// maxMessage is the largest payload, and the largest chunk but for the message's own header: readers of MCAP refuse
// chunks of 2 GiB and more.
const maxMessage = math.MaxInt32 - 1<<16

// Options are the settings of a Writer, named as the keys of rosbag2's storage config. The zero Options are the
// default.
type Options struct {
	// NoChunkCRC, NoAttachmentCRC and NoSummaryCRC leave these checksums out, EnableDataCRC adds one over the whole data
	// section.
	NoChunkCRC, NoAttachmentCRC, EnableDataCRC, NoSummaryCRC bool
	// NoChunking writes messages straight into the data section. They can not be searched by time or topic then.
	NoChunking bool
	// NoMessageIndex leaves out which messages of a chunk are whose.
	NoMessageIndex bool
	// NoSummary ends the file with its data section: a reader has to go through all of it.
	NoSummary bool
	// ChunkSize is in bytes before compression; 0 is DefaultChunkSize.
	ChunkSize        int
	Compression      Compression
	CompressionLevel Level
	// ForceCompression compresses chunks that are small or that compression does not make smaller, too.
	ForceCompression bool
	// The rest leaves out parts of the summary. Without repeated schemas or channels there are no chunk indexes either,
	// which would need them.
	NoRepeatedSchemas, NoRepeatedChannels, NoAttachmentIndex, NoMetadataIndex bool
	NoChunkIndex, NoStatistics, NoSummaryOffsets                              bool

	// Metadata is written at once when it is not empty; see storage.Writer.Seal.
	Metadata []byte
	// MetadataVersion is storage.CreateOptions's.
	MetadataVersion int
	// ROSDistro is written beside it when it is not empty.
	ROSDistro string
	Files     storage.Files // nil is storage.OSFiles
}

// Preset gives the options of a storage preset profile. In rosbag2 "fastwrite" is without chunks, which makes a file
// that can not be searched. Here it leaves out the checksum of chunks, which is what costs: of the processor's time of
// write(2) alone to tmpfs, "none" reaches 0.74 at 10 KB and 0.81 at 1 MB, "fastwrite" 0.82 and 0.93, a file without
// chunks 0.84 and 0.97 (BenchmarkWrite). So there is next to nothing left to gain for a file that can not be searched;
// who wants it has the key noChunking of a storage config.
func Preset(name string) (Options, error) {
	switch name {
	case "", "none":
		return Options{}, nil
	case "fastwrite":
		return Options{NoChunkCRC: true}, nil
	case "zstd_fast":
		return Options{Compression: CompressionZstd, CompressionLevel: LevelFastest}, nil
	case "zstd_small":
		return Options{Compression: CompressionZstd, CompressionLevel: LevelSlowest, ChunkSize: 4 << 20}, nil
	default:
		return Options{}, fmt.Errorf(
			"unknown MCAP storage preset profile (valid options are 'none', 'fastwrite', 'zstd_fast', 'zstd_small'): %s", name)
	}
}

// optionsOf applies the storage config over the preset.
func optionsOf(create storage.CreateOptions) (Options, error) {
	options, err := Preset(create.Preset)
	if err != nil {
		return Options{}, err
	}
	if err := options.apply(create.Config); err != nil {
		return Options{}, err
	}
	options.Metadata, options.MetadataVersion = create.Metadata, create.MetadataVersion
	options.ROSDistro, options.Files = create.ROSDistro, create.Files
	return options, nil
}

// limit is the number of bytes after which a chunk is cut, or the buffer written when there are no chunks.
func (o *Options) limit() int {
	if o.NoChunking || o.ChunkSize <= 0 {
		return DefaultChunkSize
	}
	return min(o.ChunkSize, maxMessage)
}
