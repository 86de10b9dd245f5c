package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessageReferences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":              {"", nil},
		"comments":           {"# Ghost a\n  # Ghost b\n\n", nil},
		"builtin":            {"bool a\nstring<=5 b\nwstring[<=3] c\nuint8[16] d\nstring<=5[<=2] e", nil},
		"constant":           {"uint8 A=1\nstring B = 'Ghost b'\n", nil},
		"default":            {"Point p\nfloat32[] f [1.0, 2.0]\n", []string{"pkg/msg/Point"}},
		"own package":        {"Point p\r\n", []string{"pkg/msg/Point"}},
		"own Header":         {"Header h\n", []string{"std_msgs/msg/Header"}},
		"other package":      {"a/B b\na/msg/C c\n", []string{"a/msg/B", "a/msg/C"}},
		"sorted, each once":  {"z/Z z\na/A[] a\nz/Z[3] again\n", []string{"a/msg/A", "z/msg/Z"}},
		"comment at the end": {"a/A a # z/Z z\n", []string{"a/msg/A"}},
	} {
		t.Run(name, func(t *testing.T) {
			refs, err := messageReferences("pkg", c.text)
			require.NoError(t, err)
			var got []string
			for _, ref := range refs {
				got = append(got, ref.String())
			}
			require.Equal(t, c.want, got)
		})
	}
	for name, text := range map[string]string{
		"no name":           "bool",
		"comment for name":  "bool # a",
		"path":              "../../etc/passwd p",
		"number":            "3d/Point p",
		"array of nothing":  "[3] p",
		"more than a type":  "a/b/C/D d",
		"punctuation":       "Point; p",
		"second line wrong": "bool a\nPoi-nt p",
	} {
		t.Run("refused, "+name, func(t *testing.T) {
			_, err := messageReferences("pkg", text)
			require.Error(t, err)
		})
	}
}

func TestIDLReferences(t *testing.T) {
	text := "#include \"b/msg/B.idl\"\n  #include <a/srv/A.idl>\n#include \"b/msg/B.idl\"\n#include \"x.h\"\n#include \"../y.idl\"\n"
	require.Equal(t, []typeName{{"a", "srv", "A"}, {"b", "msg", "B"}}, idlReferences(text))
}

func TestSections(t *testing.T) {
	require.Equal(t, []string{"a b\n", "", "# ---\nc d"}, sections("a b\n--- \n---\r\n# ---\nc d"))
}

func FuzzMessageReferences(f *testing.F) {
	for _, seed := range []string{"Header h\n", "a/B[<=3] b # c", "string<=10[2] labels \"x\"", "uint8 A=1", "\x00 a", "[ x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := messageReferences("pkg", text)
		if err != nil {
			require.Empty(t, refs)
			return
		}
		require.True(t, slices.IsSortedFunc(refs, func(a, b typeName) int { return strings.Compare(a.String(), b.String()) }))
		for _, ref := range refs { // what is found can be looked for, and below its package only
			again, err := parseTypeName(ref.String())
			require.NoError(t, err)
			require.Equal(t, ref, again)
			require.NotContains(t, ref.String(), ".")
		}
	})
}
