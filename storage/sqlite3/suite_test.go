package sqlite3

import (
	"testing"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

func TestSuite(t *testing.T) {
	for _, preset := range Format().Presets {
		t.Run(preset, func(t *testing.T) {
			format := Format()
			create := format.Create
			format.Create = func(path string, options storage.CreateOptions) (storage.Writer, error) {
				if options.Preset == "" {
					options.Preset = preset
				}
				return create(path, options)
			}
			storagetest.Run(t, format, storagetest.Traits{
				NoPublishTime: true,
				Config:        "write:\n  pragmas: [\"cache_size = 100\"]\nread:\n  pragmas: [\"cache_size = 100\"]\n",
			})
		})
	}
}
