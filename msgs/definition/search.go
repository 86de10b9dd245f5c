package definition

import (
	"path/filepath"
	"slices"

	"rosbagd/storage"
)

// Search is where this machine may have the definition of a type, in order.
type Search []*Finder

// NewSearch looks below installation prefixes first, then in paths that a user gave: directories of packages, or
// prefixes with a share directory of packages. What a package of a path uses may be installed.
func NewSearch(prefixes, paths []string) Search {
	installed := NewFinder(prefixes)
	if len(paths) == 0 {
		return Search{installed}
	}
	var given []string
	for _, path := range paths {
		given = append(given, path, filepath.Join(path, "share"))
	}
	return Search{installed, NewFinderIn(slices.Concat(given, shares(prefixes)))}
}

// Definition gives the first definition of typ that has the hash; else, or for an empty hash, the first one there is.
// It returns an error that wraps ErrNotFound when there is none.
func (s Search) Definition(typ, hash string) (storage.Definition, error) {
	var first storage.Definition
	var firstErr error
	for _, finder := range s {
		found, err := finder.Definition(typ)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			continue
		}
		if first.Encoding == "" {
			first = found
		}
		if hash == "" {
			break
		}
		if described, _, err := Describe(typ, found); err == nil && described.Hash() == hash {
			return found, nil
		}
	}
	if first.Encoding == "" {
		return first, firstErr
	}
	return first, nil
}
