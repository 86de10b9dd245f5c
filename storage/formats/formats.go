package formats

import (
	"bytes"
	"fmt"

	"rosbagd/storage"
	"rosbagd/storage/mcap"
)

// DefaultID is the storage id of new bags.
const DefaultID = mcap.ID

// All lists the formats, the default first.
func All() storage.Formats {
	return storage.Formats{mcap.Format(), sqlite3()}
}

// Lookup finds a format by its id.
func Lookup(id string) (storage.Format, error) { return All().Lookup(id) }

// Detect finds the format of a file by its content.
func Detect(path string) (storage.Format, error) { return All().Detect(path) }

// sqlite3 is recognised, so that the answer is better than "unknown".
func sqlite3() storage.Format {
	const id = "sqlite3"
	return storage.Format{
		ID:        id,
		Extension: ".db3",
		Matches:   func(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) },
		Create: func(path string, _ storage.CreateOptions) (storage.Writer, error) {
			return nil, fmt.Errorf("create %s: storage %s: %w", path, id, storage.ErrUnsupported)
		},
		Open: func(path string) (storage.Reader, error) {
			return nil, fmt.Errorf("open %s: storage %s: %w", path, id, storage.ErrUnsupported)
		},
	}
}
