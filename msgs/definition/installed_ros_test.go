//go:build ros

package definition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installedType is a share/<pkg>/<kind>/<Name>.json, as the generators of ROS write it.
type installedType struct {
	Described struct {
		Type       jsonType   `json:"type_description"`
		Referenced []jsonType `json:"referenced_type_descriptions"`
	} `json:"type_description_msg"`
	Hashes []struct {
		Name string `json:"type_name"`
		Hash string `json:"hash_string"`
	} `json:"type_hashes"`
}

type jsonType struct {
	Name   string `json:"type_name"`
	Fields []struct {
		Name string `json:"name"`
		Type struct {
			ID             uint8  `json:"type_id"`
			Capacity       uint64 `json:"capacity"`
			StringCapacity uint64 `json:"string_capacity"`
			Nested         string `json:"nested_type_name"`
		} `json:"type"`
		Default string `json:"default_value"`
	} `json:"fields"`
}

func (t jsonType) plain() Type {
	plain := Type{Name: t.Name}
	for _, f := range t.Fields {
		plain.Fields = append(plain.Fields, Field{Name: f.Name, Type: FieldType(f.Type), Default: f.Default})
	}
	return plain
}

// TestDescriptionsAreThoseOfROS compares every installed message, and every message behind a service or an action,
// with what the generators of ROS made of it: the hash, the fields, the defaults.
func TestDescriptionsAreThoseOfROS(t *testing.T) {
	prefixes := Prefixes(os.Getenv("AMENT_PREFIX_PATH"))
	finder := NewFinder(prefixes)
	hashes, types := map[string]string{}, map[string]Type{}
	for _, prefix := range prefixes {
		files, err := filepath.Glob(filepath.Join(prefix, "share", "*", "*", "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			if kind := filepath.Base(filepath.Dir(file)); kind != "msg" && kind != "srv" && kind != "action" {
				continue
			}
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var installed installedType
			require.NoError(t, json.Unmarshal(data, &installed), file)
			for _, h := range installed.Hashes {
				hashes[h.Name] = h.Hash
			}
			for _, described := range append(installed.Described.Referenced, installed.Described.Type) {
				types[described.Name] = described.plain()
			}
		}
	}
	if os.Getenv("ROS_DISTRO") != "humble" { // whose types have no hash
		require.Greater(t, len(hashes), 200)
	}
	compared := 0
	for typ, hash := range hashes {
		name, err := parseTypeName(typ)
		require.NoError(t, err)
		_, composed := composition(name)
		if _, _, ok := section(name); name.kind != "msg" && !ok && !composed {
			continue // a whole service or action is never on a topic
		}
		text, err := finder.Definition(typ)
		require.NoError(t, err)
		if text.Encoding != "ros2msg" {
			continue
		}
		got, _, err := Describe(typ, text)
		require.NoError(t, err, typ)
		require.Equal(t, hash, got.Hash(), typ)
		require.Equal(t, types[typ], got.Type)
		for _, referenced := range got.Referenced {
			require.Equal(t, types[referenced.Name], referenced)
		}
		// And back: what another node would tell of the type gives the same type again, with texts and without.
		for _, sources := range [][]Source{nil, sourcesOf(t, typ, finder)} {
			again, err := FromDescription(got, sources)
			require.NoError(t, err, typ)
			described, _, err := Describe(typ, again)
			require.NoError(t, err, typ)
			require.Equal(t, hash, described.Hash(), "%s\n%s", typ, again.Text)
			if sources != nil && name.kind == "msg" {
				require.Equal(t, filledLines(text.Text), filledLines(again.Text), typ)
			}
		}
		compared++
	}
	require.GreaterOrEqual(t, compared, len(hashes)*3/4) // the others are whole services and actions, or IDL only
}

// filledLines leaves the ends of files alone, which may lack a line's end.
func filledLines(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
}

func sourcesOf(t *testing.T, typ string, finder *Finder) []Source {
	text, err := finder.Definition(typ)
	require.NoError(t, err)
	_, sources, err := Describe(typ, text)
	require.NoError(t, err)
	return sources
}
