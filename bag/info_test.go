package bag_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage/storagetest"
)

func infoOf(t *testing.T, path string, options bag.InfoOptions) string {
	t.Helper()
	options.Location = time.UTC
	var out bytes.Buffer
	require.NoError(t, bag.WriteInfo(&out, open(t, path), options))
	return out.String()
}

// example is a bag whose metadata alone is asked.
func example(t *testing.T, topics string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo")
	require.NoError(t, os.Mkdir(path, 0o700))
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
	require.NoError(t, os.WriteFile(filepath.Join(path, bag.MetadataName), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, "demo_0.mcap"), make([]byte, 12000), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, "demo_1.mcap"), make([]byte, 800), 0o600))
	return path
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
`, infoOf(t, example(t, exampleTopics), bag.InfoOptions{}))
}

func TestInfoWithoutTopicsAndServices(t *testing.T) {
	text := infoOf(t, example(t, "[]"), bag.InfoOptions{})
	require.True(t, strings.HasSuffix(text, "Topic information: \nService:           0\nService information: \n"), text)
}

func TestInfoTopicNamesAndOrder(t *testing.T) {
	path := example(t, exampleTopics)
	require.Equal(t, "/chatter\n/imu\n", infoOf(t, path, bag.InfoOptions{TopicNames: true}))
	require.Equal(t, "/imu\n/chatter\n", infoOf(t, path, bag.InfoOptions{TopicNames: true, Sort: bag.SortType}))
	require.Equal(t, "/chatter\n/imu\n", infoOf(t, path, bag.InfoOptions{TopicNames: true, Sort: bag.SortCount}))
}

// TestInfoVerboseCountsCalls: 12 calls, told by client and service with two client ids, as rosbag2 counts them.
func TestInfoVerboseCountsCalls(t *testing.T) {
	text := infoOf(t, filepath.Join(golden, "mcap_plain"), bag.InfoOptions{Verbose: true})
	require.Contains(t, text, "Service: /switch | Type: std_srvs/srv/SetBool | Request Count: 24 | Response Count: 24 | Size Contribution: ")
	require.Contains(t, text, "Topic: /tick | Type: std_msgs/msg/Empty | Count: 24 | Size Contribution: ")
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
	var out bytes.Buffer
	require.NoError(t, bag.WriteInfo(&out, open(t, path), bag.InfoOptions{}))
	require.Contains(t, out.String(), "/x\uFFFDERROR \uFFFD[31mred")
	require.NotContains(t, out.String(), "\x1b")
}
