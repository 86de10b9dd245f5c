package definition

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

func ros2msg(text string) storage.Definition {
	return storage.Definition{Encoding: "ros2msg", Text: text}
}

const (
	stringHash  = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
	emptyHash   = "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312"
	headerHash  = "RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01"
	setBoolHash = "RIHS01_3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf"
)

// TestHash has hashes of types that every ROS 2 brings; the whole lot is compared where one is installed.
func TestHash(t *testing.T) {
	headerAndTime := header + "\n" + line + "MSG: builtin_interfaces/Time\n" + stamp
	for name, c := range map[string]struct{ typ, text, hash string }{
		"one field":              {"std_msgs/msg/String", "string data\n", stringHash},
		"name without msg":       {"std_msgs/String", "string data", stringHash},
		"comments and constants": {"std_msgs/msg/String", "# a\nstring data # b\nuint8 A=1\nstring B = \"x\"\n", stringHash},
		"default":                {"std_msgs/msg/String", "string data \"none # at all\"\n", stringHash},
		"carriage returns":       {"std_msgs/msg/String", "# a\r\nstring data\r\n", stringHash},
		"no field":               {"std_msgs/msg/Empty", "", emptyHash},
		"nested":                 {"std_msgs/msg/Header", headerAndTime, headerHash},
		"nested, with the folder": {
			"std_msgs/msg/Header", strings.ReplaceAll(headerAndTime, "MSG: builtin_interfaces/", "MSG: builtin_interfaces/msg/"), headerHash,
		},
		"service event, composed": {
			"std_srvs/srv/SetBool_Event", "ignored\n" + line + "MSG: std_srvs/SetBool_Request\nbool data\n\n" +
				line + "MSG: std_srvs/SetBool_Response\nbool success\nstring message\n", setBoolHash,
		},
		"service event, text of the file": {
			"std_srvs/srv/SetBool_Event", "bool data # e.g.\n---\nbool success\nstring message\n", setBoolHash,
		},
	} {
		t.Run(name, func(t *testing.T) {
			described, _, err := Describe(c.typ, ros2msg(c.text))
			require.NoError(t, err)
			require.Equal(t, c.hash, described.Hash())
		})
	}
}

func TestDescribeFields(t *testing.T) {
	described, sources, err := Describe("a/msg/A", ros2msg(
		"bool b true\nfloat32[3] f [1, 2.5e20, -0.1]\nstring<=5[<=2] s ['it''s', \"x\"]\nB[] list\nuint8 c 0x10\n\n"+line+"MSG: a/B\nchar c\n"))
	require.NoError(t, err)
	require.Equal(t, Description{
		Type: Type{Name: "a/msg/A", Fields: []Field{
			{Name: "b", Type: FieldType{ID: 15}, Default: "True"},
			{Name: "f", Type: FieldType{ID: 58, Capacity: 3}, Default: "(1.0, 2.5e+20, -0.1)"},
			{Name: "s", Type: FieldType{ID: 117, Capacity: 2, StringCapacity: 5}, Default: "('it', 's', 'x')"},
			{Name: "list", Type: FieldType{ID: 145, Nested: "a/msg/B"}},
			{Name: "c", Type: FieldType{ID: 3}, Default: "16"},
		}},
		Referenced: []Type{{Name: "a/msg/B", Fields: []Field{{Name: "c", Type: FieldType{ID: 3}}}}},
	}, described)
	require.Equal(t, "a/msg/B", sources[1].TypeName)
	require.Equal(t, "char c\n", sources[1].Text)
	require.NotContains(t, sources[0].Text, "===")
}

func TestDescribeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		typ   string
		d     storage.Definition
		words string
	}{
		"no type name":       {"x", ros2msg(""), "not of the form"},
		"IDL":                {"a/msg/A", storage.Definition{Encoding: "ros2idl"}, "ros2idl"},
		"nothing":            {"a/msg/A", storage.Definition{}, "not read"},
		"missing type":       {"a/msg/A", ros2msg("B b\n"), "lacks a/msg/B"},
		"bound of a number":  {"a/msg/A", ros2msg("int8<=3 b\n"), "only strings"},
		"no bracket":         {"a/msg/A", ros2msg("int8[3 b\n"), "not closed"},
		"no length":          {"a/msg/A", ros2msg("int8[x] b\n"), "no number"},
		"zero length":        {"a/msg/A", ros2msg("int8[0] b\n"), "no number"},
		"type of ROS 1":      {"a/msg/A", ros2msg("time b\n"), "no such type"},
		"no field name":      {"a/msg/A", ros2msg("int8\n"), "no field name"},
		"wrong field name":   {"a/msg/A", ros2msg("int8 a-b\n"), "no field name"},
		"a service, whole":   {"a/msg/A", ros2msg("int8 a\n---\nint8 b\n"), "no field name"},
		"a missing response": {"a/srv/A_Event", ros2msg("int8 a\n"), "lacks a/srv/A_Re"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Describe(c.typ, c.d)
			require.ErrorContains(t, err, c.words)
		})
	}
}

// TestFromDescription is about what other nodes may tell.
func TestFromDescription(t *testing.T) {
	text := "# what it is\nB[2] b\nint8 LEFT=1\n\n" + line + "MSG: a/B\nstring<=3[] s # names\n"
	described, sources, err := Describe("a/msg/A", ros2msg(text))
	require.NoError(t, err)

	whole, err := FromDescription(described, sources)
	require.NoError(t, err)
	require.Equal(t, text, whole.Text)

	written, err := FromDescription(described, nil)
	require.NoError(t, err)
	require.Equal(t, "a/B[2] b\n\n"+line+"MSG: a/B\nstring<=3[] s\n", written.Text)

	lying := append([]Source{{TypeName: "a/msg/A", Encoding: "msg", Text: "int64 other\n"}}, sources[1:]...)
	corrected, err := FromDescription(described, lying)
	require.NoError(t, err)
	require.Equal(t, written, corrected)

	for name, bad := range map[string]Description{
		"name of no type":    {Type: Type{Name: "../../a"}},
		"missing type":       {Type: Type{Name: "a/msg/A", Fields: []Field{{Name: "b", Type: FieldType{ID: 1, Nested: "a/msg/B"}}}}},
		"type without word":  {Type: Type{Name: "a/msg/A", Fields: []Field{{Name: "b", Type: FieldType{ID: 12}}}}},
		"unknown type":       {Type: Type{Name: "a/msg/A", Fields: []Field{{Name: "b", Type: FieldType{ID: 255}}}}},
		"field of two lines": {Type: Type{Name: "a/msg/A", Fields: []Field{{Name: "b\nint8 c", Type: FieldType{ID: 2}}}}},
	} {
		_, err := FromDescription(bad, nil)
		require.Error(t, err, name)
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add("a/msg/A", "B b 1\n\n"+line+"MSG: a/B\nstring<=3[<=4] s ['x', \"y\\\"\"] # z\nbool C=1\n")
	f.Add("a/srv/A_Event", "int8 a\n---\nint8 b\n")
	f.Add("a/action/A_FeedbackMessage", "\n"+line+"MSG: a/A_Feedback\nA a\n")
	f.Fuzz(func(t *testing.T, typ, text string) {
		described, sources, err := Describe(typ, ros2msg(text))
		if err != nil {
			return
		}
		require.Len(t, sources, 1+len(described.Referenced))
		again, err := FromDescription(described, sources) // whatever can be described can be told and read again
		require.NoError(t, err)
		twice, _, err := Describe(described.Type.Name, again)
		require.NoError(t, err)
		require.Equal(t, described.Hash(), twice.Hash())
	})
}
