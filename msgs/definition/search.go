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
// When there is none it returns the error of the last place, which has looked in all those before too: what is wrong
// with a file that a user gave, or one that wraps ErrNotFound.
func (s Search) Definition(typ, hash string) (storage.Definition, error) {
	var first storage.Definition
	var lastErr error
	for _, finder := range s {
		found, err := finder.Definition(typ)
		if err != nil {
			lastErr = err
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
		return first, lastErr
	}
	return first, nil
}
