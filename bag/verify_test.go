package bag_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/compression"
	"rosbagd/storage/storagetest"
)

// verify gives what Verify tells of a bag, and checks that it has left the directory as it was.
func verify(t *testing.T, path string) ([]storage.Finding, bag.Verified) {
	t.Helper()
	t.Setenv(bag.CacheDirectoryVariable, filepath.Join(t.TempDir(), "cache"))
	before := listing(t, path)
	var findings []storage.Finding
	result, err := bag.Verify(path, bag.VerifyOptions{}, func(f storage.Finding) { findings = append(findings, f) })
	require.NoError(t, err)
	require.Equal(t, before, listing(t, path), "nothing was written")
	return findings, result
}

// listing is names, sizes and times of all files below a path.
func listing(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano(), info.Mode()))
		}
		return err
	}))
	return all
}

// verifiedBags are all bags of rosbag2 in testdata that were recorded to their end.
func verifiedBags(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden, "*", bag.MetadataName))
	require.NoError(t, err)
	require.Greater(t, len(paths), 8)
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names
}

func TestVerifyFindsNoFaultInBagsOfRosbag2(t *testing.T) {
	for _, name := range verifiedBags(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(golden, name)
			findings, result := verify(t, path)
			require.True(t, result.Sound(), "%v", findings)
			require.Equal(t, open(t, path).Metadata().MessageCount, result.Messages)
			require.Equal(t, len(findings), result.Notices)
		})
	}
}

// soundBag is a bag of ours with two files.
func soundBag(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	id, err := w.AddTopic(storagetest.Topic("/b"))
	require.NoError(t, err)
	messages := storagetest.Messages(100, 0, id)
	require.NoError(t, w.Write(messages[:60]))
	_, _, err = w.Split()
	require.NoError(t, err)
	require.NoError(t, w.Write(messages[60:]))
	require.NoError(t, w.Seal())
	return path
}

func TestVerifyFindsNothingInBagsOfOurs(t *testing.T) {
	findings, result := verify(t, soundBag(t))
	require.Empty(t, findings)
	require.Equal(t, bag.Verified{Files: 2, Messages: 100}, result)
	for name, options := range map[string]bag.WriterOptions{
		"files compressed":    {CompressionMode: bag.CompressionFile, CompressionFormat: "zstd"},
		"messages compressed": {CompressionMode: bag.CompressionMessage, CompressionFormat: "zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo")
			w := create(t, path, options)
			seal := run(t, w)
			require.NoError(t, w.Write(storagetest.Messages(50, 0)))
			seal()
			findings, result := verify(t, path)
			require.Empty(t, findings)
			require.EqualValues(t, 50, result.Messages)
		})
	}
}

// TestVerifyComparesMetadataWithTheFiles changes a word of metadata.yaml, or a file, each.
func TestVerifyComparesMetadataWithTheFiles(t *testing.T) {
	const yaml = bag.MetadataName
	replace := func(old, by string, n int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			name := filepath.Join(path, yaml)
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.GreaterOrEqual(t, strings.Count(string(text), old), n, "%s", text)
			parts := strings.SplitN(string(text), old, n+1)
			changed := strings.Join(parts[:n], old) + by + parts[n]
			require.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
		}
	}
	start := "nanoseconds_since_epoch: 1700000000000000000"
	for name, c := range map[string]struct {
		change   func(*testing.T, string)
		severity storage.Severity
		path     string
		words    string
	}{
		"count of all":        {replace("message_count: 100", "message_count: 101", 1), storage.Fault, yaml, "message_count: 101, the files have 100"},
		"count of a topic":    {replace("message_count: 50", "message_count: 49", 1), storage.Fault, yaml, "topic /a: message_count: 49, the files have 50"},
		"count of a file":     {replace("message_count: 60", "message_count: 61", 1), storage.Fault, "demo_0.mcap", "message_count: 61, the file has 60"},
		"start of all":        {replace(start, start[:len(start)-1]+"7", 1), storage.Fault, yaml, "starting_time: 1700000000000000007 ns"},
		"start of a file":     {replace(start, start[:len(start)-1]+"7", 2), storage.Fault, "demo_0.mcap", "starting_time: 1700000000000000007 ns"},
		"duration":            {replace("nanoseconds: 99000000", "nanoseconds: 99000001", 1), storage.Fault, yaml, "duration: 99000001 ns"},
		"duration of a file":  {replace("nanoseconds: 59000000", "nanoseconds: 59000001", 1), storage.Fault, "demo_0.mcap", "duration: 59000001 ns"},
		"type of a topic":     {replace("std_msgs/msg/String", "std_msgs/msg/Int8", 1), storage.Fault, yaml, "topic /a: type: std_msgs/msg/Int8, the files say std_msgs/msg/String"},
		"format of a topic":   {replace("serialization_format: cdr", "serialization_format: json", 1), storage.Fault, yaml, "serialization_format: json"},
		"hash of a topic":     {replace("RIHS01_df", "RIHS01_00", 1), storage.Fault, yaml, "type_description_hash"},
		"topic left out":      {replace("name: /b", "name: /c", 1), storage.Fault, "demo_0.mcap", "metadata.yaml does not list topic /b"},
		"topic of no file":    {replace("name: /b", "name: /c", 1), storage.Fault, yaml, "topic /c: message_count: 50, but no file has the topic"},
		"topic twice":         {replace("name: /b", "name: /a", 1), storage.Fault, yaml, "topic /a is listed twice"},
		"another storage":     {replace("storage_identifier: mcap", "storage_identifier: sqlite3", 1), storage.Fault, "demo_0.mcap", "is of storage mcap"},
		"compression":         {replace(`compression_mode: ""`, "compression_mode: TAPE", 1), storage.Fault, yaml, `compression_mode: "TAPE"`},
		"messages not packed": {replace("compression_format: \"\"\n  compression_mode: \"\"", "compression_format: zstd\n  compression_mode: MESSAGE", 1), storage.Damage, "demo_0.mcap", "can not be decompressed"},
		"path out of the bag": {replace("- demo_1.mcap", "- ../../demo_9.mcap", 1), storage.Fault, yaml, "demo_9.mcap"},
		"file twice":          {replace("- demo_1.mcap", "- demo_0.mcap", 1), storage.Fault, yaml, "lists demo_0.mcap twice"},
		"file not described":  {replace("path: demo_1.mcap", "path: demo_7.mcap", 1), storage.Fault, "demo_1.mcap", "'files' does not describe it"},
		"version of tomorrow": {replace("version: 9", "version: 99", 1), storage.Notice, yaml, "version 99"},
		"no QoS":              {replace("offered_qos_profiles:", "offered_qos_profiles: [7]\n        x:", 1), storage.Fault, yaml, "malformed metadata"},
		"no YAML":             {replace("version: 9", "version: {", 1), storage.Fault, yaml, "malformed metadata"},
		"no metadata":         {func(t *testing.T, path string) { require.NoError(t, os.Remove(filepath.Join(path, yaml))) }, storage.Fault, yaml, "is missing"},
		"missing file":        {func(t *testing.T, path string) { require.NoError(t, os.Remove(filepath.Join(path, "demo_1.mcap"))) }, storage.Damage, "demo_1.mcap", "is missing"},
		"extra file": {func(t *testing.T, path string) {
			copyFile(t, filepath.Join(path, "demo_0.mcap"), filepath.Join(path, "demo_2.mcap"))
		}, storage.Fault, "demo_2.mcap", "is not listed in metadata.yaml"},
		"another bag's file": {func(t *testing.T, path string) {
			copyFile(t, filepath.Join(path, "demo_1.mcap"), filepath.Join(path, "demo_0.mcap"))
		}, storage.Fault, "demo_0.mcap", "message_count: 60, the file has 40"},
		"files in wrong order": {swapFiles, storage.Notice, "demo_1.mcap", "begins 99ms before demo_0.mcap ends"},
		"empty file": {func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(filepath.Join(path, "demo_1.mcap"), 0))
		}, storage.Damage, "demo_1.mcap", "file is empty"},
		"cut file": {func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(filepath.Join(path, "demo_1.mcap"), 1000))
		}, storage.Damage, "demo_1.mcap", "unfinished"},
		"no bag file": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(filepath.Join(path, "demo_1.mcap"), []byte("hello"), 0o600))
		}, storage.Damage, "demo_1.mcap", "magic bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := soundBag(t)
			c.change(t, path)
			findings, result := verify(t, path)
			found := false
			for _, f := range findings {
				found = found || f.Severity == c.severity && f.Path == filepath.Join(path, c.path) && strings.Contains(f.Text, c.words)
			}
			require.True(t, found, "%v", findings)
			require.Equal(t, c.severity != storage.Notice || strings.Contains(name, "order"), !result.Sound(), "%v", findings)
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

func swapFiles(t *testing.T, path string) {
	t.Helper()
	a, b, c := filepath.Join(path, "demo_0.mcap"), filepath.Join(path, "demo_1.mcap"), filepath.Join(path, "x")
	require.NoError(t, os.Rename(a, c))
	require.NoError(t, os.Rename(b, a))
	require.NoError(t, os.Rename(c, b))
}

// TestVerifyLooksIntoTopics: definitions, hashes, types and payloads.
func TestVerifyLooksIntoTopics(t *testing.T) {
	payload := []byte("\x00\x01\x00\x00\x01\x00\x00\x00\x00")
	text := func(change func(*storage.Topic)) storage.Topic {
		topic := storagetest.Topic("/x")
		change(&topic)
		return topic
	}
	for name, c := range map[string]struct {
		topic    storage.Topic
		payload  []byte
		severity storage.Severity
		words    string // empty: nothing is found
	}{
		"sound":            {text(func(*storage.Topic) {}), payload, 0, ""},
		"parameter lists":  {text(func(*storage.Topic) {}), []byte("\x00\x0b\x00\x03"), 0, ""},
		"without fields":   {text(emptyType), []byte("\x00\x01\x00\x00\x00"), 0, ""},
		"IDL":              {text(idlType), payload, 0, ""},
		"IDL without root": {text(func(topic *storage.Topic) { idlType(topic); topic.Type = "a/msg/C" }), payload, storage.Fault, "lacks a/msg/C"},
		"no definition": {
			text(func(topic *storage.Topic) { topic.Definition = storage.Definition{} }), payload, storage.Notice, "no definition of its type std_msgs/msg/String",
		},
		"definition is no grammar": {
			text(func(topic *storage.Topic) { topic.Definition.Text = "string\n" }), payload, storage.Fault, "can not be understood: ",
		},
		"definition lacks a type": {
			text(func(topic *storage.Topic) { topic.Definition.Text = "Other o\n" }), payload, storage.Fault, "lacks std_msgs/msg/Other",
		},
		"definition of another version": {
			text(func(topic *storage.Topic) { topic.Definition.Text = "string text\n" }), payload, storage.Fault, "has another hash (RIHS01_",
		},
		"definition of another kind": {
			text(func(topic *storage.Topic) { topic.Definition.Encoding = "protobuf" }), payload, storage.Fault, `encoding "protobuf" is not known`,
		},
		"another serialization": {
			text(func(topic *storage.Topic) {
				topic.SerializationFormat = "json"
				topic.Definition = storage.Definition{Encoding: "jsonschema", Text: "{}"}
			}), []byte("{"), storage.Notice, `is serialized as "json"`,
		},
		"short payload":     {text(func(*storage.Topic) {}), []byte("abc"), storage.Damage, "message has 3 bytes, a message has at least 4; 3 messages like it"},
		"no encapsulation":  {text(func(*storage.Topic) {}), []byte("hello"), storage.Damage, "begins with 68 65"},
		"hidden zstd frame": {text(func(*storage.Topic) {}), []byte("\x28\xb5\x2f\xfd\x00"), storage.Damage, "is compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo")
			w := create(t, path, bag.WriterOptions{})
			id, err := w.AddTopic(c.topic)
			require.NoError(t, err)
			messages := storagetest.Messages(3, id)
			for i := range messages {
				messages[i].Data = c.payload
			}
			require.NoError(t, w.Write(messages))
			require.NoError(t, w.Seal())
			findings, _ := verify(t, path)
			if c.words == "" {
				require.Empty(t, findings)
				return
			}
			require.Len(t, findings, 1)
			require.Equal(t, c.severity, findings[0].Severity)
			require.Contains(t, findings[0].Text, "topic /x: ")
			require.Contains(t, findings[0].Text, c.words)
			require.Positive(t, findings[0].Offset)
		})
	}
}

func emptyType(topic *storage.Topic) {
	topic.Type, topic.Definition.Text = "std_msgs/msg/Empty", ""
	topic.TypeHash = "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312"
}

func idlType(topic *storage.Topic) {
	line := strings.Repeat("=", 80) + "\n"
	topic.Type, topic.TypeHash = "a/msg/A", ""
	topic.Definition = storage.Definition{Encoding: "ros2idl", Text: line + "IDL: a/msg/A\n#include \"a/msg/B.idl\"\n" +
		"module a { module msg { struct A { a::msg::B b; }; }; };\n" + line + "IDL: a/msg/B\nmodule a { module msg { struct B { wstring w; }; }; };\n"}
}

func TestVerifyTellsWhatDoesNotUnpack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{CompressionMode: bag.CompressionFile})
	seal := run(t, w)
	messages := storagetest.Messages(20, 0)
	noise := rand.NewChaCha8([32]byte{})
	for i := range messages {
		data := make([]byte, 100_000)
		_, _ = noise.Read(data) // never fails
		messages[i].Data = append([]byte{0, 1, 0, 0}, data...)
	}
	require.NoError(t, w.Write(messages))
	seal()
	name := filepath.Join(path, "demo_0.mcap.zstd")
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for label, c := range map[string]struct {
		data  []byte
		words []string
	}{
		"cut in the middle": {whole[:len(whole)/2], []string{name + ": the compressed file is cut off or damaged", name + " (unpacked): at byte ", "unfinished"}},
		"cut at its start":  {whole[:20], []string{name + ": at byte 0: can not be unpacked"}},
		"nothing of a kind": {append([]byte("\x28\xb5\x2f\xfd"), "nothing of the kind"...), []string{name + ": "}},
		"another content":   {pack(t, "hello"), []string{name + ": at byte 0: unpacked: not a bag file"}},
	} {
		t.Run(label, func(t *testing.T) {
			require.NoError(t, os.WriteFile(name, c.data, 0o600))
			findings, result := verify(t, path)
			require.False(t, result.Sound())
			for _, words := range c.words {
				require.Contains(t, fmt.Sprint(findings), words)
			}
		})
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	codec, err := compression.Lookup("zstd")
	require.NoError(t, err)
	frame, err := codec.Compress(nil, []byte(text), 1)
	require.NoError(t, err)
	return frame
}

func TestVerifySingleFile(t *testing.T) {
	path := soundBag(t)
	findings, result := verify(t, filepath.Join(path, "demo_1.mcap"))
	require.Empty(t, findings)
	require.Equal(t, bag.Verified{Files: 1, Messages: 40}, result)
	// The messages of this one are compressed, which only metadata.yaml and the copy of it tell.
	findings, result = verify(t, filepath.Join(golden, "mcap_message_zstd", "mcap_message_zstd_0.mcap"))
	require.True(t, result.Sound(), "%v", findings)
}

func TestVerifyOfNothing(t *testing.T) {
	report := func(f storage.Finding) { t.Error(f) }
	_, err := bag.Verify(filepath.Join(t.TempDir(), "x"), bag.VerifyOptions{}, report)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = bag.Verify(t.TempDir(), bag.VerifyOptions{StorageID: "tape"}, report)
	require.ErrorIs(t, err, storage.ErrUnknownStorage)
	findings, result := verify(t, t.TempDir())
	require.Len(t, findings, 2)
	require.False(t, result.Sound())
}

// TestVerifyTellsNoFlood: a thousand faults of a file are a hundred lines.
func TestVerifyTellsNoFlood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo")
	w := create(t, path, bag.WriterOptions{})
	for i := range 300 {
		topic := storagetest.Topic(fmt.Sprintf("/x%d", i))
		topic.Definition = storage.Definition{}
		_, err := w.AddTopic(topic)
		require.NoError(t, err)
	}
	require.NoError(t, w.Seal())
	findings, result := verify(t, path)
	require.Equal(t, 300, result.Notices)
	require.Len(t, findings, 101)
	require.Equal(t, "200 more of these", findings[100].Text)
}

// TestVerifyTellsWhyNothingWasUnpacked loses the cache directory while a file is unpacked into it.
func TestVerifyTellsWhyNothingWasUnpacked(t *testing.T) {
	packed := packFile(t, filepath.Join(soundBag(t), "demo_0.mcap"))
	cache := filepath.Join(t.TempDir(), "cache")
	options := bag.VerifyOptions{Unpack: bag.UnpackOptions{
		Directory: cache, Progress: func(bag.UnpackProgress) { _ = os.RemoveAll(cache) },
	}}
	_, err := bag.Verify(packed, options, func(storage.Finding) {})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, packed)
}
