package mcap

import (
	"bytes"
	"fmt"

	mcaplib "github.com/foxglove/mcap/go/mcap"

	"rosbagd/storage"
)

// ID is the storage id of MCAP.
const ID = "mcap"

// Extension is the extension of MCAP files.
const Extension = ".mcap"

// Format is the entry of MCAP in the list of formats.
func Format() storage.Format {
	return storage.Format{
		ID:          ID,
		Extension:   Extension,
		Description: "MCAP file, chunked and indexed (Foxglove MCAP, profile ros2)",
		Presets:     []string{"none", "fastwrite", "zstd_fast", "zstd_small"},
		MinSplit:    1024,
		Matches:     func(head []byte) bool { return bytes.HasPrefix(head, mcaplib.Magic) },
		Create: func(path string, options storage.CreateOptions) (storage.Writer, error) {
			preset, err := Preset(options.Preset)
			if err != nil {
				return nil, err
			}
			preset.Metadata, preset.Files = options.Metadata, options.Files
			preset.MetadataVersion = options.MetadataVersion
			return Create(path, preset)
		},
		Open:   func(path string, _ storage.OpenOptions) (storage.Reader, error) { return Open(path) },
		Verify: verify,
	}
}

// Compression is how the records of a chunk are compressed.
type Compression string

// The compressions of the MCAP registry.
const (
	CompressionNone Compression = ""
	CompressionLZ4  Compression = "lz4"
	CompressionZstd Compression = "zstd"
)

// Level trades time for size; each compression has its own steps for it.
type Level int

// The levels; the zero value is LevelDefault.
const (
	LevelDefault Level = iota
	LevelFastest
	LevelBetter
	LevelBest
)

// DefaultChunkSize is the size at which a chunk is cut, before compression.
const DefaultChunkSize = 1 << 20

// Options are the settings of a Writer. The zero Options are the default.
type Options struct {
	ChunkSize   int // bytes before compression; 0 is DefaultChunkSize
	Compression Compression
	Level       Level
	NoChunkCRC  bool
	// Metadata is written at once when it is not empty; see storage.Writer.Seal.
	Metadata        []byte
	MetadataVersion int           // see storage.CreateOptions
	Files           storage.Files // nil is storage.OSFiles
}

// Preset gives the options of a storage preset profile. "fastwrite" is without chunks in rosbag2, which makes a file
// that can not be searched; here chunks cost no more than a few percent, so it only leaves checksums out.
func Preset(name string) (Options, error) {
	switch name {
	case "", "none":
		return Options{}, nil
	case "fastwrite":
		return Options{NoChunkCRC: true}, nil
	case "zstd_fast":
		return Options{Compression: CompressionZstd, Level: LevelFastest}, nil
	case "zstd_small":
		return Options{Compression: CompressionZstd, Level: LevelBest, ChunkSize: 4 << 20}, nil
	default:
		return Options{}, fmt.Errorf(
			"unknown MCAP storage preset profile (valid options are 'none', 'fastwrite', 'zstd_fast', 'zstd_small'): %s", name)
	}
}
