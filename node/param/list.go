package param

import (
	"maps"
	"slices"
	"strings"
)

// separator stands between the parts of a parameter's name.
const separator = "."

// Recursive is the depth that has no end.
const Recursive = 0

// List names the parameters that lie below the prefixes, or are one of them, and the groups that these are in. Without
// prefixes it looks from the top. depth is how many parts of a name may lie below the prefix.
func (s *Store) List(prefixes []string, depth uint64) (names, groups []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		if !listed(name, prefixes, depth) {
			continue
		}
		names = append(names, name)
		if i := strings.LastIndex(name, separator); i >= 0 && !slices.Contains(groups, name[:i]) {
			groups = append(groups, name[:i])
		}
	}
	return names, groups
}

func listed(name string, prefixes []string, depth uint64) bool {
	if len(prefixes) == 0 {
		return near(name, depth)
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		below, is := strings.CutPrefix(name, prefix+separator)
		return name == prefix || is && near(below, depth)
	})
}

func near(name string, depth uint64) bool {
	return depth == Recursive || uint64(strings.Count(name, separator)) < depth
}
