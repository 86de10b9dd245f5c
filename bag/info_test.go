package bag_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// describe gives the Info of a bag. CheckFiles is called as the verb does.
func describe(t testing.TB, path string, measure bool, by bag.Sort) (*bag.Info, []string) {
	t.Helper()
	r, err := bag.Open(path, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	r.CheckFiles()
	info, err := bag.Describe(r, measure, by)
	require.NoError(t, err)
	return info, r.Notes()
}

func infoText(t testing.TB, path string, measure bool) string {
	t.Helper()
	info, _ := describe(t, path, measure, bag.SortName)
	return textOf(t, info)
}

func textOf(t testing.TB, info *bag.Info) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, info.WriteText(&out, bag.InfoText{Location: time.UTC}))
	return out.String()
}

// matchGolden compares with a file; UPDATE_GOLDEN=1 writes it, to be read before it is committed.
func matchGolden(t testing.TB, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// goldenInfos are the bags with a golden text.
func goldenInfos() []string {
	return []string{
		"mcap_plain", "mcap_split", "mcap_fastwrite", "mcap_zstd_fast", "mcap_zstd_small", "mcap_file_zstd_split", "mcap_message_zstd",
		"sqlite3_plain", "sqlite3_split", "sqlite3_resilient", "sqlite3_file_zstd", "sqlite3_file_zstd_no_end_frame", "sqlite3_message_zstd",
	}
}

func TestInfoOfBagsOfRosbag2(t *testing.T) {
	all := expected(t)
	for _, name := range goldenInfos() {
		want, ok := all[name]
		require.True(t, ok, name)
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(golden, name)
			matchGolden(t, filepath.Join("testdata/info", name+".txt"), infoText(t, path, false))
			info, _ := describe(t, path, true, bag.SortName)
			matchGolden(t, filepath.Join("testdata/info", name+".verbose.txt"), textOf(t, info))
			// What others have found is the measure of the golden texts.
			require.Equal(t, want.Messages, info.Metadata.MessageCount)
			for _, topic := range info.Topics {
				require.Equal(t, want.Topics[topic.Name].Count, topic.Count, topic.Name)
				require.Equal(t, want.Topics[topic.Name].Count, topic.Usage.Messages, topic.Name)
				require.Equal(t, want.Topics[topic.Name].First, topic.Usage.FirstNanos, topic.Name)
				require.Equal(t, want.Topics[topic.Name].Last, topic.Usage.LastNanos, topic.Name)
			}
			require.Len(t, info.Services, 1)
			require.EqualValues(t, 24, info.Services[0].Usage.Requests, "12 calls, which two client ids tell of, as rosbag2 counts them")
			require.EqualValues(t, 24, info.Services[0].Usage.Responses)
		})
	}
}

// example is a bag of which only the metadata is there.
func example(t *testing.T, topics string) *bag.Info {
	t.Helper()
	text := `rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  duration: {nanoseconds: 4250000000}
  starting_time: {nanoseconds_since_epoch: 1741338902500000000}
  message_count: 50
  topics_with_message_count: ` + topics + `
  relative_file_paths: [demo_0.mcap, demo_1.mcap]
  ros_distro: jazzy
`
	path := filepath.Join(t.TempDir(), "demo")
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path, bag.MetadataName), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, "demo_0.mcap"), make([]byte, 12000), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, "demo_1.mcap"), make([]byte, 800), 0o600))
	info, err := bag.Describe(open(t, path), false, bag.SortName)
	require.NoError(t, err)
	return info
}

const exampleTopics = `
    - topic_metadata: {name: /imu, type: sensor_msgs/msg/Imu, serialization_format: cdr}
      message_count: 40
    - topic_metadata: {name: /chatter, type: std_msgs/msg/String, serialization_format: cdr}
      message_count: 2
    - topic_metadata: {name: /add/_service_event, type: example_interfaces/srv/AddTwoInts_Event, serialization_format: cdr}
      message_count: 8`

func TestInfoLayout(t *testing.T) {
	require.Equal(t, `
Files:             demo_0.mcap
                   demo_1.mcap
Bag size:          12.5 KiB
Storage id:        mcap
ROS Distro:        jazzy
Duration:          4.250000000s
Start:             Mar  7 2025 09:15:02.500000000 (1741338902.500000000)
End:               Mar  7 2025 09:15:06.750000000 (1741338906.750000000)
Messages:          42
Topic information: Topic: /chatter | Type: std_msgs/msg/String | Count: 2 | Serialization Format: cdr
                   Topic: /imu | Type: sensor_msgs/msg/Imu | Count: 40 | Serialization Format: cdr
Service:           1
Service information: Service: /add | Type: example_interfaces/srv/AddTwoInts | Event Count: 8 | Serialization Format: cdr
`, textOf(t, example(t, exampleTopics)))
}

func TestInfoWithoutTopicsAndServices(t *testing.T) {
	text := textOf(t, example(t, "[]"))
	require.True(t, strings.HasSuffix(text, "Topic information: \nService:           0\nService information: \n"), text)
}

func TestInfoTopicNamesAndOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	for i, topic := range []storage.Topic{{Name: "/y", Type: "a/msg/C"}, {Name: "/x", Type: "a/msg/B"}, {Name: "/z", Type: "a/msg/A"}} {
		topic.SerializationFormat = "cdr"
		id, err := w.AddTopic(topic)
		require.NoError(t, err)
		require.NoError(t, w.Write(storagetest.Messages(1+i, id)))
	}
	require.NoError(t, w.Seal())
	// create has added /a, which has no message.
	for by, want := range map[bag.Sort]string{
		bag.SortName: "/a\n/x\n/y\n/z\n", bag.SortType: "/z\n/x\n/y\n/a\n", bag.SortCount: "/a\n/y\n/x\n/z\n", "": "/a\n/x\n/y\n/z\n",
	} {
		info, _ := describe(t, path, false, by)
		var out bytes.Buffer
		require.NoError(t, info.WriteText(&out, bag.InfoText{TopicNames: true}))
		require.Equal(t, want, out.String(), by)
	}
}

// event is the message of a service event: who, which number, and what (0 to 3).
func event(what byte, client byte, number int64) []byte {
	data := make([]byte, 44, 60)
	data[1] = 1
	data[4] = what
	data[16] = client
	binary.LittleEndian.PutUint64(data[36:], uint64(number))
	return append(data, make([]byte, 16)...)
}

// actionBag has an action with all of its five topics, a second one with its status only, and a plain topic.
func actionBag(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{ROSDistro: "kilted"})
	w.SetCustomData("rosbagd.lost./a", "dropped=2 overflowed=0 lost=1")
	w.SetCustomData("rosbagd.lost./b", "dropped=0 overflowed=0 lost=0")
	w.SetCustomData("rosbagd.lost./c", "dropped=0 overflowed=unknown lost=unknown")
	second := int64(time.Second)
	add := func(name, typ string, payloads ...[]byte) {
		id, err := w.AddTopic(storage.Topic{Name: name, Type: typ, SerializationFormat: "cdr"})
		require.NoError(t, err)
		for i, payload := range payloads {
			at := second * int64(10+i*i)
			require.NoError(t, w.Write([]storage.Message{{Topic: id, LogTimeNanos: at, PublishTimeNanos: at, Data: payload}}))
		}
	}
	payload := make([]byte, 100)
	const fibonacci = "example_interfaces/action/Fibonacci"
	add("/fib/_action/feedback", fibonacci+"_FeedbackMessage", payload, payload, payload)
	add("/fib/_action/status", "action_msgs/msg/GoalStatusArray", payload)
	add("/fib/_action/send_goal/_service_event", fibonacci+"_SendGoal_Event",
		event(0, 1, 1), event(1, 1, 1), event(2, 1, 1), event(3, 1, 1), event(0, 2, 1))
	add("/fib/_action/cancel_goal/_service_event", "action_msgs/srv/CancelGoal_Event")
	add("/fib/_action/get_result/_service_event", fibonacci+"_GetResult_Event", event(1, 1, 7), event(2, 1, 7))
	add("/other/_action/status", "action_msgs/msg/GoalStatusArray", payload)
	add("/a", "std_msgs/msg/String", payload, payload, payload)
	require.NoError(t, w.Seal())
	return path
}

func TestInfoOfActions(t *testing.T) {
	path := actionBag(t)
	for suffix, measure := range map[string]bool{".txt": false, ".verbose.txt": true} {
		info, notes := describe(t, path, measure, bag.SortName)
		require.Empty(t, notes)
		info.Size = 123_456 // whatever the storage needs
		matchGolden(t, "testdata/info/actions"+suffix, textOf(t, info))
	}
}

func TestInfoJSON(t *testing.T) {
	// Compressed files that somebody has unpacked are looked into, and rosbag2 told a wrong duration of one.
	t.Setenv(bag.CacheDirectoryVariable, t.TempDir())
	jsonOf := func(path string, measure bool) string {
		info, notes := describe(t, path, measure, bag.SortName)
		info.Size = 123_456
		var out bytes.Buffer
		require.NoError(t, info.WriteJSON(&out, notes))
		return strings.ReplaceAll(out.String(), path, "BAG")
	}
	matchGolden(t, "testdata/info/actions.json", jsonOf(actionBag(t), true))
	// For the bag itself, the document says what metadata.yaml says, in the same words.
	for _, name := range goldenInfos() {
		path := filepath.Join(golden, name)
		text, err := os.ReadFile(filepath.Join(path, bag.MetadataName))
		require.NoError(t, err)
		var want, got map[string]any
		require.NoError(t, yaml.Unmarshal(text, &want))
		require.NoError(t, yaml.Unmarshal([]byte(jsonOf(path, false)), &got), "JSON is YAML, and numbers stay whole in it")
		require.Equal(t, want["rosbag2_bagfile_information"], got["rosbag2_bagfile_information"], name)
		require.True(t, json.Valid([]byte(jsonOf(path, false))))
	}
}

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 3 << 40: "3.0 TiB",
		5000 << 40: "5000.0 TiB",
	} {
		require.Equal(t, want, bag.FormatSize(bytes))
	}
}

func TestInfoPrintsNoControlCharacters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	_, err := w.AddTopic(storagetest.Topic("/x\nERROR \x1b[31mred"))
	require.NoError(t, err)
	require.NoError(t, w.Seal())
	text := infoText(t, path, false)
	require.Contains(t, text, "/x\uFFFDERROR \uFFFD[31mred")
	require.NotContains(t, text, "\x1b")
}
