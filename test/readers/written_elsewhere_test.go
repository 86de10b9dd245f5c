//go:build readers

package readers

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// foreign is what write_bags.py says of a bag that it wrote.
type foreign struct {
	Name   string
	How    string
	Topics map[string]struct {
		Type, Hash, Definition string
		Count                  uint64
		QoS                    []offer `json:"qos"`
	}
	Messages    []message
	Custom      map[string]string
	Distro      string
	Mode        string
	Version     int
	Attachments []string
	Records     map[string]map[string]string
}

// TestWhatOthersWriteIsReadHere reads bags of rosbags and mcap of all kinds: as they are, without metadata.yaml, and after
// it was made anew.
func TestWhatOthersWriteIsReadHere(t *testing.T) {
	parent := t.TempDir()
	bags := python[foreign](t, "write_bags.py", parent)
	require.Len(t, bags, 14+40)
	for _, want := range bags {
		t.Run(strings.TrimSpace(want.Name+" "+want.How), func(t *testing.T) {
			directory := filepath.Join(parent, want.Name)
			metadata := filepath.Join(directory, bag.MetadataName)
			with := requireForeign(t, directory, &want)
			if want.Version != 0 {
				require.Equal(t, want.Version, with.Version)
				require.NoError(t, os.Remove(metadata))
				without := requireForeign(t, directory, &want)
				require.Equal(t, with.CompressionMode, without.CompressionMode)
				require.Equal(t, told(with), told(without))
				require.Equal(t, with.Duration, without.Duration)
			}
			result, err := bag.Reindex(context.Background(), directory, bag.ReindexOptions{})
			require.NoError(t, err)
			require.False(t, result.Lost)
			require.Empty(t, result.Notes)
			again := requireForeign(t, directory, &want)
			require.Equal(t, told(with), told(again))
			require.Equal(t, with.CompressionMode, again.CompressionMode)
			require.Equal(t, with.CustomData, again.CustomData)
			requireExtras(t, directory, &want)
		})
	}
}

// told is what metadata.yaml can tell of topics.
func told(m bag.Metadata) []storage.TopicInfo {
	topics := slices.Clone(m.Topics)
	for i := range topics {
		topics[i].PayloadBytes = 0
	}
	return topics
}

func requireForeign(t *testing.T, directory string, want *foreign) bag.Metadata {
	t.Helper()
	r, err := bag.Open(directory, bag.ReaderOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	m := r.Metadata()
	require.Equal(t, uint64(len(want.Messages)), m.MessageCount)
	require.Equal(t, want.Messages[0].Log, m.StartNanos)
	require.Equal(t, want.Messages[len(want.Messages)-1].Log, m.StartNanos+int64(m.Duration))
	require.Equal(t, want.Custom, m.CustomData)
	require.Equal(t, want.Distro, m.ROSDistro)
	if want.Mode == "file" || want.Mode == "message" {
		require.Equal(t, strings.ToUpper(want.Mode), m.CompressionMode)
	} else {
		require.Empty(t, m.CompressionMode)
	}

	topics := r.Topics()
	for name, topic := range want.Topics {
		at := slices.IndexFunc(topics, func(t storage.TopicInfo) bool { return t.Name == name })
		if at < 0 {
			require.Zero(t, topic.Count, "topic %s is missing", name)
			require.Zero(t, want.Version, "topic %s is in the metadata", name)
			continue
		}
		got := topics[at]
		require.Equal(t, topic.Type, got.Type)
		require.Equal(t, topic.Count, got.MessageCount, name)
		require.Equal(t, "cdr", got.SerializationFormat)
		if topic.Hash != "" && want.Version != 0 {
			require.Contains(t, []string{topic.Hash, ""}, got.TypeHash, "rosbags keeps no hash within MCAP files")
		}
		require.Equal(t, topic.QoS, offersOf(got.Topic), name)
		definition, err := r.Definition(storage.TopicID(at))
		require.NoError(t, err)
		require.Equal(t, storage.Definition{Encoding: "ros2msg", Text: topic.Definition}, definition)
	}

	it, err := r.Messages(bag.Query{})
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	for i, wanted := range want.Messages {
		m, err := it.Next()
		require.NoError(t, err)
		require.Equal(t, wanted, message{
			Topic: topics[m.Topic].Name, Log: m.LogTimeNanos, Publish: m.PublishTimeNanos, Sequence: m.Sequence, Data: m.Data,
		}, "message %d", i)
	}
	_, err = it.Next()
	require.ErrorIs(t, err, io.EOF)
	return m
}

// requireExtras reads attachments and records of the files.
func requireExtras(t *testing.T, directory string, want *foreign) {
	t.Helper()
	if want.Attachments == nil {
		return
	}
	path := filepath.Join(directory, "any name.mcap")
	format, err := formats.Detect(path)
	require.NoError(t, err)
	reader, err := format.Open(path, storage.OpenOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	extras, ok := reader.(storage.ExtraReader)
	require.True(t, ok, "files of %s have attachments", format.ID)
	var attachments []string
	records := map[string]map[string]string{}
	require.NoError(t, extras.Extras(func(a storage.Attachment) error {
		attachments = append(attachments, a.Name)
		content, err := io.ReadAll(a.Data)
		require.Equal(t, strings.Repeat("k: 1\n", 100), string(content))
		require.Equal(t, start+1, a.LogTimeNanos)
		require.Equal(t, start, a.CreateTimeNanos)
		require.Equal(t, "text/plain", a.MediaType)
		return errors.Join(err)
	}, func(r storage.Record) error {
		records[r.Name] = r.Values
		return nil
	}))
	require.Equal(t, want.Attachments, attachments)
	require.Equal(t, want.Records, records)
}
