package mcap

import (
	"io"

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
		Matches:     matches,
		Create: func(path string, create storage.CreateOptions) (storage.Writer, error) {
			options, err := optionsOf(create)
			if err != nil {
				return nil, err
			}
			return Create(path, options)
		},
		Open: func(path string, options storage.OpenOptions) (storage.Reader, error) {
			return openPath(path, options.Scan)
		},
		Stream: func(name string, r io.Reader) (storage.Stream, error) { return OpenStream(name, r) },
		Verify: verify,
	}
}
