package sqlite3

import (
	"bytes"
	"fmt"

	"rosbagd/storage"
)

// ID is the storage id of SQLite.
const ID = "sqlite3"

// Extension is the extension of SQLite files.
const Extension = ".db3"

// Format is the entry of SQLite in the list of formats.
func Format() storage.Format {
	return storage.Format{
		ID:          ID,
		Extension:   Extension,
		Description: "SQLite 3 database",
		Presets:     []string{"resilient", "none"},
		MinSplit:    86016,
		Matches:     func(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) },
		Create: func(path string, _ storage.CreateOptions) (storage.Writer, error) {
			return nil, fmt.Errorf("create %s: storage %s: %w", path, ID, storage.ErrUnsupported)
		},
		Open: func(path string, _ storage.OpenOptions) (storage.Reader, error) {
			return nil, fmt.Errorf("open %s: storage %s: %w", path, ID, storage.ErrUnsupported)
		},
	}
}
