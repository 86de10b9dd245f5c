package definition

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testFinder() *Finder {
	return NewFinder([]string{
		filepath.Join("testdata", "missing"), filepath.Join("testdata", "first"), filepath.Join("testdata", "second"),
	})
}

// line is the separator as the format fixes it, written out so that a change of the constant is seen.
const line = "================================================================================\n"

const (
	header = "builtin_interfaces/Time stamp\nstring frame_id\n"
	stamp  = "int32 sec\nuint32 nanosec\n"
	point  = "float64 x\nHeader header\n"
	uuid   = "uint8[16] uuid\n"
	info   = "uint8 REQUEST_SENT = 0\nuint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\n" +
		"int64 sequence_number\n"
)

func TestDefinition(t *testing.T) {
	cloud, err := os.ReadFile("testdata/first/share/demo/msg/Cloud.msg")
	require.NoError(t, err)
	headerAndTime := "\n" + line + "MSG: std_msgs/Header\n" + header + "\n" + line + "MSG: builtin_interfaces/Time\n" + stamp
	for name, c := range map[string]struct{ typ, encoding, text string }{
		"no dependency":    {"builtin_interfaces/msg/Time", "ros2msg", stamp},
		"name without msg": {"builtin_interfaces/Time", "ros2msg", stamp},
		"empty file":       {"demo/msg/Empty", "ros2msg", ""},
		"second prefix":    {"demo/msg/Later", "ros2msg", "int8 only_here\n"},
		"uses itself":      {"demo/msg/Ring", "ros2msg", "Ring ring\n"},
		"nested, each once, depth first, bare Header": {
			"demo/msg/Cloud", "ros2msg",
			string(cloud) + "\n" + line + "MSG: demo/Point\n" + point + headerAndTime,
		},
		"request of a service": {
			"demo/srv/Move_Request", "ros2msg",
			"Point where\nstring why\n" + "\n" + line + "MSG: demo/Point\n" + point + headerAndTime,
		},
		"response of a service": {"demo/srv/Move_Response", "ros2msg", "bool success\n"},
		"event of a service": {
			"demo/srv/Nop_Event", "ros2msg",
			"service_msgs/ServiceEventInfo info\ndemo/Nop_Request[<=1] request\ndemo/Nop_Response[<=1] response\n" +
				"\n" + line + "MSG: demo/Nop_Request\n" +
				"\n" + line + "MSG: demo/Nop_Response\n" +
				"\n" + line + "MSG: service_msgs/ServiceEventInfo\n" + info +
				"\n" + line + "MSG: builtin_interfaces/Time\n" + stamp,
		},
		"feedback of an action": {
			"demo/action/Walk_FeedbackMessage", "ros2msg",
			"unique_identifier_msgs/UUID goal_id\ndemo/Walk_Feedback feedback\n" +
				"\n" + line + "MSG: demo/Walk_Feedback\nPoint partial\n" +
				"\n" + line + "MSG: demo/Point\n" + point + headerAndTime +
				"\n" + line + "MSG: unique_identifier_msgs/UUID\n" + uuid,
		},
		"event of an action's service": {
			"demo/action/Walk_GetResult_Event", "ros2msg",
			"service_msgs/ServiceEventInfo info\ndemo/Walk_GetResult_Request[<=1] request\n" +
				"demo/Walk_GetResult_Response[<=1] response\n" +
				"\n" + line + "MSG: demo/Walk_GetResult_Request\nunique_identifier_msgs/UUID goal_id\n" +
				"\n" + line + "MSG: unique_identifier_msgs/UUID\n" + uuid +
				"\n" + line + "MSG: demo/Walk_GetResult_Response\nint8 status\ndemo/Walk_Result result\n" +
				"\n" + line + "MSG: demo/Walk_Result\nint32[] sequence\n" +
				"\n" + line + "MSG: service_msgs/ServiceEventInfo\n" + info +
				"\n" + line + "MSG: builtin_interfaces/Time\n" + stamp,
		},
		"goal request of an action": {
			"demo/action/Walk_SendGoal_Request", "ros2msg",
			"unique_identifier_msgs/UUID goal_id\ndemo/Walk_Goal goal\n" +
				"\n" + line + "MSG: demo/Walk_Goal\nint32 order\n" +
				"\n" + line + "MSG: unique_identifier_msgs/UUID\n" + uuid,
		},
		"goal response of an action": {
			"demo/action/Walk_SendGoal_Response", "ros2msg",
			"bool accepted\nbuiltin_interfaces/Time stamp\n" + "\n" + line + "MSG: builtin_interfaces/Time\n" + stamp,
		},
		"only IDL": {
			"wide/msg/Text", "ros2idl",
			line + "IDL: wide/msg/Text\n#include \"wide/msg/Inner.idl\"\n\n" +
				"module wide { module msg { struct Text { wide::msg::Inner inner; }; }; };\n" +
				"\n" + line + "IDL: wide/msg/Inner\nmodule wide { module msg { struct Inner { wstring w; }; }; };\n",
		},
		"a dependency has only IDL": {
			"demo/msg/Mixed", "ros2idl",
			line + "IDL: demo/msg/Mixed\n#include \"wide/msg/Text.idl\"\n\n" +
				"module demo { module msg { struct Mixed { wide::msg::Text text; }; }; };\n" +
				"\n" + line + "IDL: wide/msg/Text\n#include \"wide/msg/Inner.idl\"\n\n" +
				"module wide { module msg { struct Text { wide::msg::Inner inner; }; }; };\n" +
				"\n" + line + "IDL: wide/msg/Inner\nmodule wide { module msg { struct Inner { wstring w; }; }; };\n",
		},
		"event of a service that has only IDL": {
			"wide/srv/Say_Event", "ros2idl",
			line + "IDL: wide/srv/Say_Event\n#include \"service_msgs/msg/ServiceEventInfo.idl\"\n" +
				"#include \"wide/srv/Say.idl\"\n\nmodule wide {\n  module srv {\n    struct Say_Event {\n" +
				"      service_msgs::msg::ServiceEventInfo info;\n" +
				"      sequence<wide::srv::Say_Request, 1> request;\n" +
				"      sequence<wide::srv::Say_Response, 1> response;\n    };\n  };\n};\n" +
				"\n" + line + "IDL: service_msgs/msg/ServiceEventInfo\n" +
				"module service_msgs { module msg { struct ServiceEventInfo { uint8 event_type; }; }; };\n" +
				"\n" + line + "IDL: wide/srv/Say\nmodule wide { module srv { struct Say_Request { wstring w; }; " +
				"struct Say_Response { boolean ok; }; }; };\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := testFinder()
			for range 2 { // the second time from what is kept
				d, err := f.Definition(c.typ)
				require.NoError(t, err)
				require.Equal(t, storage.Definition{Encoding: c.encoding, Text: c.text}, d)
			}
		})
	}
}

func TestNotFound(t *testing.T) {
	for name, typ := range map[string]string{
		"no file":              "demo/msg/Ghost",
		"dependency missing":   "demo/msg/Haunted",
		"no package":           "ghosts/msg/Casper",
		"a whole service":      "demo/srv/Move",
		"a way out of share":   "../msg/Point",
		"empty":                "",
		"one word":             "Point",
		"unknown kind":         "demo/idl/Point",
		"event of a message":   "demo/msg/Point_Event",
		"service without file": "demo/srv/Ghost_Event",
	} {
		t.Run(name, func(t *testing.T) {
			d, err := testFinder().Definition(typ)
			require.ErrorIs(t, err, ErrNotFound)
			require.Zero(t, d)
		})
	}
}

func TestDamagedFile(t *testing.T) {
	_, err := testFinder().Definition("demo/msg/Broken")
	require.ErrorContains(t, err, "demo/msg/Broken.msg: read line 1")
	require.NotErrorIs(t, err, ErrNotFound)
}

func TestLaterInstalled(t *testing.T) {
	dir := t.TempDir()
	f := NewFinder([]string{dir})
	_, err := f.Definition("new/msg/Thing")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "share/new/msg"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "share/new/msg/Thing.msg"), []byte("bool a\n"), 0o644))
	d, err := f.Definition("new/msg/Thing")
	require.NoError(t, err)
	require.Equal(t, "bool a\n", d.Text)
}

func TestManyGoroutines(t *testing.T) {
	f := testFinder()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, typ := range []string{"demo/msg/Cloud", "demo/srv/Move_Event", "wide/msg/Text", "demo/msg/Ghost"} {
				d, err := f.Definition(typ)
				if (err == nil) != (d.Encoding != "") {
					t.Errorf("%s: %q, %v", typ, d.Encoding, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestPrefixes(t *testing.T) {
	require.Equal(t, []string{"/opt/a", "/opt/b"}, Prefixes(strings.Join([]string{"/opt/a", "", "/opt/b"}, string(os.PathListSeparator))))
	require.Empty(t, Prefixes(""))
}
