package formats

import (
	"rosbagd/storage"
	"rosbagd/storage/mcap"
	"rosbagd/storage/sqlite3"
)

// DefaultID is the storage id of new bags.
const DefaultID = mcap.ID

// All lists the formats, the default first.
func All() storage.Formats {
	return storage.Formats{mcap.Format(), sqlite3.Format()}
}

// Lookup finds a format by its id.
func Lookup(id string) (storage.Format, error) { return All().Lookup(id) }

// Detect finds the format of a file by its content.
func Detect(path string) (storage.Format, error) { return All().Detect(path) }

// DetectDamaged finds the format of a file by its content, or else by its extension.
func DetectDamaged(path string) (storage.Format, error) { return All().DetectDamaged(path) }
