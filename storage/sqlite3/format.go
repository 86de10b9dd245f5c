package sqlite3

import (
	"bytes"

	"rosbagd/storage"
)

// ID is the storage id of SQLite.
const ID = "sqlite3"

// Extension is the extension of SQLite files.
const Extension = ".db3"

const magic = "SQLite format 3\x00"

// Format is the entry of SQLite in the list of formats.
func Format() storage.Format {
	return storage.Format{
		ID:          ID,
		Extension:   Extension,
		Description: "SQLite 3 database, schema versions 1 to 4 of rosbag2",
		Presets:     []string{PresetResilient, PresetNone},
		Risks:       map[string]string{PresetNone: presetNoneRisk},
		Companions:  companions(),
		MinSplit:    86016,
		Matches:     func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
		Create: func(path string, options storage.CreateOptions) (storage.Writer, error) {
			return Create(path, options)
		},
		Open:   func(path string, options storage.OpenOptions) (storage.Reader, error) { return Open(path, options) },
		Verify: verify,
	}
}
