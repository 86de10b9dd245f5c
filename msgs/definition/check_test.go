package definition

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

func TestCheck(t *testing.T) {
	idl := func(parts ...string) storage.Definition {
		return storage.Definition{Encoding: "ros2idl", Text: separator + strings.Join(parts, "\n"+separator)}
	}
	const a = "IDL: p/msg/A\n#include \"p/msg/B.idl\"\nmodule p { module msg {\n  @verbatim (language=\"comment\", text=\"no } at \\\" all\")\n" +
		"  struct A { p::msg::B b; }; // nor { here\n  /* or [ here */ }; };\n"
	const b = "IDL: p/msg/B\nmodule p { module msg { struct B { wstring w; }; }; };\n"
	for name, c := range map[string]struct {
		typ   string
		d     storage.Definition
		words string // empty: sound
	}{
		"ros2msg":             {"std_msgs/msg/String", ros2msg("string data\n"), ""},
		"nothing, empty type": {"std_msgs/msg/Empty", ros2msg(""), ""},
		"ros2msg of a kind":   {"std_msgs/msg/String", ros2msg("data\n"), "no field name"},
		"IDL":                 {"p/msg/A", idl(a, b), ""},
		"IDL without a line":  {"p/msg/B", storage.Definition{Encoding: "ros2idl", Text: b[strings.Index(b, "\n")+1:]}, ""},
		"IDL of a service":    {"p/srv/S_Request", idl("IDL: p/srv/S\nmodule p { module srv { struct S_Request { long x; }; }; };\n"), ""},
		"IDL lacks a part":    {"p/msg/A", idl(a), "lacks p/msg/B, which p/msg/A includes"},
		"IDL lacks its root":  {"p/msg/C", idl(a, b), "lacks p/msg/C"},
		"IDL is cut":          {"p/msg/B", idl(b[:len(b)-5]), `"{" is not closed`},
		"IDL closes too much": {"p/msg/B", idl(b + "};"), `"}" closes nothing`},
		"IDL text is open":    {"p/msg/B", idl(b + `"`), "a text is not closed"},
		"IDL without struct":  {"p/msg/B", idl("IDL: p/msg/B\n"), "no struct"},
		"IDL without header":  {"p/msg/B", idl(b, "nothing\n"), "no header of a part"},
		"IDL is long":         {"p/msg/B", idl(b, strings.Repeat(" ", maxText)), "longer than"},
		"another encoding":    {"p/msg/B", storage.Definition{Encoding: "protobuf"}, `"protobuf" is not known`},
		"no type":             {"B", idl(b), "not of the form"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.typ, c.d)
			if c.words == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.words)
		})
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("p/msg/B", "ros2idl", separator+"IDL: p/msg/B\nmodule p { module msg { struct B { wstring w; }; }; };\n")
	f.Add("p/msg/B", "ros2msg", "string s \"x\"\n")
	f.Add("p/msg/B", "ros2idl", "/* \" // ")
	f.Fuzz(func(_ *testing.T, typ, encoding, text string) {
		_ = Check(typ, storage.Definition{Encoding: encoding, Text: text})
	})
}
