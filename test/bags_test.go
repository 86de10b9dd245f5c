//go:build ros

package test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const (
	// bagStartNanos is the time of the first message of a made bag.
	bagStartNanos = int64(1_700_000_000_000_000_000)
	countTopic    = "/count"
	stringType    = "std_msgs/msg/String"
)

// makeBag lets the mcap library write count messages "0", "1", ... on /count, a period apart.
func (w *world) makeBag(t *testing.T, name string, count int, period time.Duration) string {
	t.Helper()
	bag := w.path(name)
	maker := w.script(t, "make_bag.py", bag, strconv.Itoa(count), strconv.FormatInt(period.Milliseconds(), 10), fmt.Sprint(bagStartNanos))
	maker.requireExit(t, 0, startDeadline)
	return bag
}

// mcapFiles are the files of a bag directory in the order of their numbers.
func mcapFiles(t *testing.T, bag string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(bag, "*.mcap"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no file in %s", bag)
	return files // fewer than ten files: the order of the text is that of the numbers
}

// mcapMessage is a message as the mcap library reads it.
type mcapMessage struct {
	Topic          string            `json:"topic"`
	Type           string            `json:"type"`
	SchemaEncoding string            `json:"schema_encoding"`
	Schema         string            `json:"schema"`
	Encoding       string            `json:"encoding"`
	Metadata       map[string]string `json:"metadata"`
	LogNanos       int64             `json:"log"`
	PublishNanos   int64             `json:"publish"`
	Data           string            `json:"data"`
}

func (w *world) mcapMessages(t *testing.T, bag string) []mcapMessage {
	t.Helper()
	reader := w.script(t, "read_mcap.py", append([]string{"messages"}, mcapFiles(t, bag)...)...)
	reader.requireExit(t, 0, readDeadline)
	return jsonLines[mcapMessage](t, reader.text(stdout))
}

// numbers is what the mcap library finds of the numbers on one topic.
type numbers struct {
	Count    int   `json:"count"`
	First    int   `json:"first"`
	Last     int   `json:"last"`
	Missing  int   `json:"missing"`
	Again    int   `json:"again"`
	LogNanos int64 `json:"log"`
}

func (w *world) mcapNumbers(t *testing.T, bag string) map[string]numbers {
	t.Helper()
	reader := w.script(t, "read_mcap.py", append([]string{"numbers"}, mcapFiles(t, bag)...)...)
	reader.requireExit(t, 0, readDeadline)
	var found map[string]numbers
	lastJSON(t, reader, &found)
	return found
}

func (w *world) mcapCounts(t *testing.T, bag string) map[string]int {
	t.Helper()
	reader := w.script(t, "read_mcap.py", append([]string{"counts"}, mcapFiles(t, bag)...)...)
	reader.requireExit(t, 0, readDeadline)
	var found map[string]int
	lastJSON(t, reader, &found)
	return found
}

// shown is a payload for comparing: itself, or a digest when a failure message could not show it.
func shown(data string) string {
	const most = 100
	if len(data) <= most {
		return data
	}
	return fmt.Sprintf("%d characters, SHA-256 %x", len(data), sha256.Sum256([]byte(data)))
}

func jsonLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var found []T
	lines := bufio.NewReader(strings.NewReader(text))
	for decoder := json.NewDecoder(lines); decoder.More(); {
		var one T
		require.NoError(t, decoder.Decode(&one))
		found = append(found, one)
	}
	return found
}

// metadata is what these tests ask of a metadata.yaml.
type metadata struct {
	Information struct {
		Version  int    `yaml:"version"`
		Storage  string `yaml:"storage_identifier"`
		Duration struct {
			Nanos int64 `yaml:"nanoseconds"`
		} `yaml:"duration"`
		Start struct {
			Nanos int64 `yaml:"nanoseconds_since_epoch"`
		} `yaml:"starting_time"`
		Count  int `yaml:"message_count"`
		Topics []struct {
			Topic struct {
				Name   string  `yaml:"name"`
				Type   string  `yaml:"type"`
				Format string  `yaml:"serialization_format"`
				Offers []offer `yaml:"offered_qos_profiles"`
				Hash   string  `yaml:"type_description_hash"`
			} `yaml:"topic_metadata"`
			Count int `yaml:"message_count"`
		} `yaml:"topics_with_message_count"`
		Paths []string `yaml:"relative_file_paths"`
		Files []struct {
			Path  string `yaml:"path"`
			Count int    `yaml:"message_count"`
		} `yaml:"files"`
		Distro string            `yaml:"ros_distro"`
		Custom map[string]string `yaml:"custom_data"`
	} `yaml:"rosbag2_bagfile_information"`
}

type offer struct {
	Reliability string `yaml:"reliability"`
	Durability  string `yaml:"durability"`
}

func readMetadata(t *testing.T, bag string) metadata {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(bag, "metadata.yaml"))
	require.NoError(t, err)
	var found metadata
	require.NoError(t, yaml.Unmarshal(text, &found))
	return found
}

// requireExactMetadata compares metadata.yaml with what the mcap library counts in the files, and returns the counts.
func (w *world) requireExactMetadata(t *testing.T, bag string) map[string]int {
	t.Helper()
	information := readMetadata(t, bag).Information
	counts := w.mcapCounts(t, bag)
	total := 0
	for _, topic := range information.Topics {
		require.Equal(t, counts[topic.Topic.Name], topic.Count, "messages of %s in metadata.yaml", topic.Topic.Name)
		total += topic.Count
	}
	for topic, count := range counts {
		total -= count
		require.NotZero(t, count, topic)
	}
	require.Zero(t, total, "messages in files and in metadata.yaml")
	sum := 0
	for _, file := range information.Files {
		sum += file.Count
	}
	require.Equal(t, information.Count, sum, "sum over the files in metadata.yaml")
	require.Len(t, information.Paths, len(mcapFiles(t, bag)))
	return counts
}

// treeHash is a digest of names, modes, times and contents of all files below a path, for proving that nothing was touched.
func treeHash(t *testing.T, root string) string {
	t.Helper()
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %v\n", relative, info.Mode())
		if info.Mode().IsRegular() {
			fmt.Fprintf(sum, "%d\n", info.ModTime().UnixNano())
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, _ = sum.Write(content)
		}
		return nil
	}))
	return hex.EncodeToString(sum.Sum(nil))
}

// requireOneClearLine requires exactly one line of complaint, which says a word, and no trace of a crash.
func requireOneClearLine(t *testing.T, p *process, word string) {
	t.Helper()
	var complaints []string
	for line := range strings.Lines(p.text(stderr)) {
		if !strings.Contains(line, "[INFO]") && !aboutLocalhost(line) {
			complaints = append(complaints, line)
		}
	}
	require.Len(t, complaints, 1, "lines on standard error\n%s", p.dump())
	require.Contains(t, complaints[0], word)
	requireNoCrash(t, p)
}

// aboutLocalhost tells the two warnings that rcl gives for ROS_LOCALHOST_ONLY.
func aboutLocalhost(line string) bool {
	return strings.Contains(line, "[rcl]") && strings.Contains(strings.ToLower(line), "localhost_only")
}

func warning(line string) bool {
	return strings.Contains(line, "[WARN]") && !aboutLocalhost(line)
}

// requireNoCrash requires that no stack trace was shown.
func requireNoCrash(t *testing.T, p *process) {
	t.Helper()
	for _, text := range []string{p.text(stdout), p.text(stderr)} {
		for _, trace := range []string{"goroutine ", "panic:", "Traceback", "runtime error", "SIGSEGV"} {
			require.NotContains(t, text, trace)
		}
	}
}
