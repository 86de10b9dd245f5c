package definition

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearch(t *testing.T) {
	installed, packages, prefix := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		file := filepath.Join(path...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write("int8 old\n", installed, "share", "a", "msg", "A.msg")
	write("int8 base\n", installed, "share", "base", "msg", "Base.msg")
	write("int8 new\n", packages, "a", "msg", "A.msg")
	write("base/Base base\n", packages, "b", "msg", "B.msg")
	write("int8 c\n", prefix, "share", "c", "msg", "C.msg")
	search := NewSearch([]string{installed}, []string{packages, prefix})

	newer, _, err := Describe("a/msg/A", ros2msg("int8 new\n"))
	require.NoError(t, err)
	for name, c := range map[string]struct{ typ, hash, text string }{
		"installed first":             {"a/msg/A", "", "int8 old\n"},
		"the one with the hash":       {"a/msg/A", newer.Hash(), "int8 new\n"},
		"none with the hash":          {"a/msg/A", "RIHS01_0", "int8 old\n"},
		"a prefix":                    {"c/msg/C", "", "int8 c\n"},
		"given, uses what is in both": {"b/msg/B", "RIHS01_0", "base/Base base\n\n" + line + "MSG: base/Base\nint8 base\n"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := search.Definition(c.typ, c.hash)
			require.NoError(t, err)
			require.Equal(t, c.text, found.Text)
		})
	}
	_, err = search.Definition("d/msg/D", "")
	require.ErrorIs(t, err, ErrNotFound)
	write("int8\n", packages, "d", "msg", "D.msg")
	_, err = search.Definition("d/msg/D", "")
	require.ErrorContains(t, err, filepath.Join(packages, "d", "msg", "D.msg")+": read line 1", "what is wrong with the given one")
	_, err = NewSearch(nil, nil).Definition("d/msg/D", "RIHS01_0")
	require.ErrorIs(t, err, ErrNotFound)
}
