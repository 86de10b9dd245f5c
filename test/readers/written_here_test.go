//go:build readers

package readers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
	"rosbagd/storage/qos"
)

const (
	start     = int64(1_700_000_000_000_000_000)
	step      = int64(10_000_000)
	transport = int64(100_000)
	count     = 120
)

var rule = strings.Repeat("=", 80) + "\n"

// topicsWritten are topics of every kind that gave readers trouble.
func topicsWritten() []storage.Topic {
	plain := qos.Profile{
		History: qos.HistoryUnknown, Reliability: qos.Reliable, Durability: qos.Volatile, Deadline: qos.Infinite,
		Lifespan: qos.Infinite, Liveliness: qos.Automatic, LivelinessLeaseDuration: qos.Infinite,
	}
	latched := qos.Profile{
		History: qos.KeepLast, Depth: 7, Reliability: qos.Reliable, Durability: qos.TransientLocal,
		Deadline: 1500 * time.Millisecond, Lifespan: time.Minute + 1, Liveliness: qos.ManualByTopic,
		LivelinessLeaseDuration: 2 * time.Second, AvoidROSNamespaceConventions: true,
	}
	topic := func(name, kind, encoding, text string, offers ...qos.Profile) storage.Topic {
		return storage.Topic{
			Name: name, Type: kind, SerializationFormat: "cdr", OfferedQoS: offers,
			TypeHash: "RIHS01_" + strings.Repeat("0a", 32), Definition: storage.Definition{Encoding: encoding, Text: text},
		}
	}
	point := "std_msgs/Header header\ngeometry_msgs/Point point\n" +
		rule + "MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n" +
		rule + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" +
		rule + "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
	event := "service_msgs/ServiceEventInfo info\ndemo/Serve_Request[<=1] request\ndemo/Serve_Response[<=1] response\n" +
		rule + "MSG: service_msgs/ServiceEventInfo\nuint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n" +
		rule + "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n" +
		rule + "MSG: demo/Serve_Request\nint64 a\n" +
		rule + "MSG: demo/Serve_Response\nint64 b\n"
	return []storage.Topic{
		topic("/words", "std_msgs/msg/String", "ros2msg", "string data\n", plain),
		topic("/point", "geometry_msgs/msg/PointStamped", "ros2msg", point, plain, latched),
		topic("/empty", "std_msgs/msg/Empty", "ros2msg", "", plain),
		topic("/wide", "demo/msg/Wide", "ros2msg", "wstring data\n", latched),
		topic("/serve/_service_event", "demo/srv/Serve_Event", "ros2msg", event, plain),
		topic("/unknown", "demo/msg/Unknown", "", "", plain),
		topic("/never", "std_msgs/msg/String", "ros2msg", "string data\n"),
	}
}

// payload is what a publisher would send, little endian.
func payload(topic, index int) []byte {
	data := []byte{0, 1, 0, 0}
	text := func(words string) {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(words)+1))
		data = append(data, words+"\x00"...)
	}
	switch topic {
	case 0:
		text(strings.Repeat(fmt.Sprint(index, " "), 1+index%9))
	case 1:
		data = binary.LittleEndian.AppendUint32(data, uint32(index))
		data = binary.LittleEndian.AppendUint32(data, uint32(7*index))
		text("map")
		for n := range 3 {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(index+n)))
		}
	case 2:
		data = append(data, 0)
	case 3:
		data = binary.LittleEndian.AppendUint32(data, 2)
		data = append(data, 'h', 0, 'i', 0)
	case 4:
		data = append(data, 0, 0, 0, 0)
		data = append(data, make([]byte, 4+4+16+4+8+4)...)
		data = append(data, make([]byte, 4)...)
	default:
		data = binary.LittleEndian.AppendUint32(data, uint32(index))
	}
	return data
}

// messagesWritten go round the topics; their times go up and down within ten of them.
func messagesWritten() []storage.Message {
	var all []storage.Message
	for i := range count {
		at := start + int64(i)*step
		if i%10 == 3 {
			at += 5 * step / 2
		}
		all = append(all, storage.Message{
			Topic: storage.TopicID(i % 6), Sequence: uint32(i + 1), LogTimeNanos: at, PublishTimeNanos: at - transport,
			Data: payload(i%6, i),
		})
	}
	return all
}

// write makes a bag in so many files.
func write(t *testing.T, directory string, options bag.WriterOptions, files int) {
	t.Helper()
	options.ROSDistro, options.CustomData = "jazzy", map[string]string{"robot": "7", "yes": "no"}
	w, err := bag.Create(directory, options)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- w.Run(context.Background()) }()
	for _, topic := range topicsWritten() {
		_, err := w.AddTopic(topic)
		require.NoError(t, err)
	}
	for i, part := range slices.Collect(slices.Chunk(messagesWritten(), count/files)) {
		if i > 0 {
			_, _, err := w.Split()
			require.NoError(t, err)
			// A publisher that comes late costs no reader a message of its topic.
			require.NoError(t, w.UpdateTopic(0, topicsWritten()[1].OfferedQoS))
		}
		require.NoError(t, w.Write(part))
	}
	require.NoError(t, w.Seal())
	require.NoError(t, <-done)
}

// combination is one way to write a bag.
type combination struct {
	name    string
	options bag.WriterOptions
	files   int
}

// combinations are all storages, presets and compressions in one file and in three, and all metadata versions.
func combinations() []combination {
	var all []combination
	for _, format := range formats.All() {
		kinds := map[string]bag.WriterOptions{}
		for _, preset := range format.Presets {
			kinds[preset] = bag.WriterOptions{Preset: preset}
		}
		if format.ID == "mcap" {
			for _, word := range []string{"Lz4", "Zstd"} {
				kinds["chunks "+word] = bag.WriterOptions{StorageConfig: storage.Config{Path: word, Data: []byte("compression: " + word + "\nchunkSize: 4096\n")}}
			}
		}
		for kind, options := range kinds {
			options.StorageID = format.ID
			for _, mode := range []string{"", bag.CompressionFile, bag.CompressionMessage} {
				options.CompressionMode = mode
				for _, files := range []int{1, 3} {
					all = append(all, combination{strings.TrimSpace(fmt.Sprintf("%s %s %d %s", format.ID, kind, files, mode)), options, files})
				}
			}
		}
		for version := bag.OldestMetadataVersion; version < bag.MetadataVersion; version++ {
			for _, mode := range []string{"", bag.CompressionFile, bag.CompressionMessage} {
				options := bag.WriterOptions{StorageID: format.ID, MetadataVersion: version, CompressionMode: mode}
				all = append(all, combination{strings.TrimSpace(fmt.Sprintf("%s version %d %s", format.ID, version, mode)), options, 2})
			}
		}
	}
	slices.SortFunc(all, func(a, b combination) int { return strings.Compare(a.name, b.name) })
	return all
}

// read is what read_bags.py finds in a bag.
type read struct {
	Rosbags struct {
		Mode   string
		Distro *string
		Custom map[string]string
		Count  int
		Start  int64
		End    int64
		Topics map[string]struct {
			Type, Hash, Encoding, Definition string
			Count                            int
			QoS                              []offer `json:"qos"`
		}
		Messages []message
		Decoded  map[string]int
		Failed   map[string]string
	}
	Files []struct {
		Topics map[string]struct {
			Type, Encoding, Definition, Format, QoS, Hash string
			Count                                         int
			Metadata                                      map[string]string
		}
		Messages []message
		Decoded  map[string]int
		Failed   map[string]string
		Profile  string
		Indexed  bool
		Schema   int
		Metadata []string
	}
}

// TestOthersReadWhatIsWrittenHere lets rosbags, mcap, mcap-ros2-support and sqlite3 read bags of all kinds.
func TestOthersReadWhatIsWrittenHere(t *testing.T) {
	parent := t.TempDir()
	all := combinations()
	var directories []string
	for _, c := range all {
		directory := filepath.Join(parent, strings.ReplaceAll(c.name, " ", "_"))
		write(t, directory, c.options, c.files)
		directories = append(directories, directory)
	}
	found := python[read](t, "read_bags.py", directories...)
	require.Len(t, found, len(all))
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			requireReadByRosbags(t, c, &found[i])
			requireReadByFile(t, c, &found[i])
		})
	}
}

// byTime orders messages as readers do, within each file.
func byTime(files int) []storage.Message {
	var all []storage.Message
	for part := range slices.Chunk(messagesWritten(), count/files) {
		part = slices.Clone(part)
		slices.SortStableFunc(part, func(a, b storage.Message) int { return int(a.LogTimeNanos - b.LogTimeNanos) })
		all = append(all, part...)
	}
	return all
}

func offersOf(topic storage.Topic) []offer {
	offers := []offer{}
	for _, p := range topic.OfferedQoS {
		offers = append(offers, shownOffer(p))
	}
	return offers
}

func shownOffer(p qos.Profile) offer {
	return offer{
		History: p.History.String(), Depth: uint64(p.Depth), Reliability: p.Reliability.String(), Durability: p.Durability.String(),
		Deadline: int64(p.Deadline), Lifespan: int64(p.Lifespan), Liveliness: p.Liveliness.String(),
		Lease: int64(p.LivelinessLeaseDuration), Avoid: p.AvoidROSNamespaceConventions,
	}
}

func requireReadByRosbags(t *testing.T, c combination, found *read) {
	t.Helper()
	r := &found.Rosbags
	require.Equal(t, strings.ToLower(c.options.CompressionMode), r.Mode)
	version := c.options.MetadataVersion
	if version == 0 || version >= 8 {
		require.Equal(t, "jazzy", *r.Distro)
	}
	if version == 0 || version >= 6 {
		require.Equal(t, map[string]string{"robot": "7", "yes": "no"}, r.Custom)
	}
	want := byTime(c.files)
	require.Equal(t, count, r.Count)
	require.Equal(t, start, r.Start)
	last := slices.MaxFunc(want, func(a, b storage.Message) int { return int(a.LogTimeNanos - b.LogTimeNanos) })
	require.Equal(t, last.LogTimeNanos+1, r.End, "rosbags tells the time behind the last message")
	topics := topicsWritten()
	require.Len(t, r.Topics, len(topics))
	for id, topic := range topics {
		got := r.Topics[topic.Name]
		require.Equal(t, topic.Type, got.Type)
		if version == 0 || version >= 7 {
			require.Equal(t, topic.TypeHash, got.Hash)
		}
		require.Equal(t, offersOf(topic), got.QoS, topic.Name)
		require.Equal(t, topic.Definition.Text, got.Definition, topic.Name)
		require.Equal(t, countOf(id), got.Count)
	}
	requireMessages(t, want, r.Messages, false)
	for id, topic := range topics[:5] {
		if topic.Name == "/wide" { // it knows no wide strings
			require.Contains(t, r.Failed, topic.Name)
			continue
		}
		require.Equal(t, countOf(id), r.Decoded[topic.Name], "%s: %s", topic.Name, r.Failed[topic.Name])
	}
}

func countOf(id int) int {
	if id == 6 {
		return 0
	}
	return count / 6
}

func requireMessages(t *testing.T, want []storage.Message, got []message, sent bool) {
	t.Helper()
	require.Len(t, got, len(want))
	topics := topicsWritten()
	for i, m := range want {
		expected := message{Topic: topics[m.Topic].Name, Log: m.LogTimeNanos, Data: m.Data}
		if sent {
			expected.Publish, expected.Sequence = m.PublishTimeNanos, m.Sequence
		}
		require.Equal(t, expected, got[i], "message %d", i)
	}
}

func requireReadByFile(t *testing.T, c combination, found *read) {
	t.Helper()
	require.Len(t, found.Files, c.files)
	var all []message
	counts, decoded := map[string]int{}, map[string]int{}
	for _, file := range found.Files {
		all = append(all, file.Messages...)
		require.NotEmpty(t, file.Metadata[len(file.Metadata)-1], "the copy of the metadata")
		require.Len(t, file.Topics, len(topicsWritten()), "every file has every topic")
		for _, topic := range topicsWritten() {
			got := file.Topics[topic.Name]
			require.Equal(t, topic.Type, got.Type)
			require.Equal(t, topic.Definition.Text, got.Definition, topic.Name)
			require.NotEqual(t, "unknown", got.Encoding, "rosbags takes no such file")
			counts[topic.Name] += got.Count
		}
		for topic, n := range file.Decoded {
			decoded[topic] += n
		}
		if c.options.StorageID == "mcap" {
			require.Equal(t, "ros2", file.Profile)
			require.Equal(t, topicsWritten()[0].TypeHash, file.Topics["/words"].Metadata["topic_type_hash"])
			require.Contains(t, file.Topics["/words"].Metadata["offered_qos_profiles"], "history: ")
			require.NotContains(t, file.Failed, "/words")
		} else {
			require.Equal(t, 4, file.Schema)
			require.Equal(t, topicsWritten()[0].TypeHash, file.Topics["/words"].Hash)
		}
	}
	requireMessages(t, byTime(c.files), all, c.options.StorageID == "mcap")
	for id, topic := range topicsWritten() {
		require.Equal(t, countOf(id), counts[topic.Name], topic.Name)
	}
	if c.options.StorageID == "mcap" {
		require.Equal(t, countOf(0), decoded["/words"])
		require.Equal(t, countOf(1), decoded["/point"])
		require.Equal(t, countOf(4), decoded["/serve/_service_event"])
	}
}
