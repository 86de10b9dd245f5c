package bag_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// summaryRecords are the bodies of the records of one kind in the summary, as parts of content.
func summaryRecords(t *testing.T, content []byte, op mcaplib.OpCode) [][]byte {
	t.Helper()
	end := len(content) - len(mcaplib.Magic)
	footer := content[end-20:]
	at := int(binary.LittleEndian.Uint64(footer))
	var found [][]byte
	for at < end {
		length := int(binary.LittleEndian.Uint64(content[at+1:]))
		if mcaplib.OpCode(content[at]) == op {
			found = append(found, content[at+9:at+9+length])
		}
		at += 9 + length
	}
	require.NotEmpty(t, found)
	return found
}

// TestRepairMendsFaults repairs files in which every message can be read and something else is wrong.
func TestRepairMendsFaults(t *testing.T) {
	for name, spoil := range map[string]func(content []byte){
		"statistics": func(content []byte) {
			binary.LittleEndian.PutUint64(summaryRecords(t, content, mcaplib.OpStatistics)[0], 7)
		},
		"time in a chunk index": func(content []byte) {
			body := summaryRecords(t, content, mcaplib.OpChunkIndex)[1]
			binary.LittleEndian.PutUint64(body, binary.LittleEndian.Uint64(body)-5)
		},
		"time in a message index": func(content []byte) {
			index := summaryRecords(t, content, mcaplib.OpChunkIndex)[1]
			chunk := int(binary.LittleEndian.Uint64(index[16:]) + binary.LittleEndian.Uint64(index[24:]))
			entry := content[chunk+9+2+4:] // behind the head, the channel and the length of the list
			binary.LittleEndian.PutUint64(entry, binary.LittleEndian.Uint64(entry)+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory, all := t.TempDir(), groups(4)
			path := wholeFile(t, directory, "mcap", "none", all)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			spoil(content)
			// Without its checksum the summary is believed.
			binary.LittleEndian.PutUint32(content[len(content)-len(mcaplib.Magic)-4:], 0)
			require.NoError(t, os.WriteFile(path, content, 0o600))
			require.NotEmpty(t, findings(t, directory, storage.Fault))
			require.Empty(t, findings(t, directory, storage.Damage))

			repaired := requireRepaired(t, directory, slices.Concat(all...))
			require.Empty(t, repaired.Missing)
			reindex(t, directory, bag.ReindexOptions{})
			require.Empty(t, findings(t, directory, storage.Fault))
		})
	}
}

// TestRepairMakesTheIndexOfADatabase repairs one that has lost only that.
func TestRepairMakesTheIndexOfADatabase(t *testing.T) {
	directory := t.TempDir()
	want := logMessages(60)
	path := wholeFile(t, directory, "sqlite3", "resilient", [][]storage.Message{want})
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	// An index that nobody knows is none: it is on another column.
	spoilt := bytes.Replace(content, []byte("ON messages (timestamp ASC)"), []byte("ON messages (topic_id  ASC)"), 1)
	require.NotEqual(t, content, spoilt)
	require.NoError(t, os.WriteFile(path, spoilt, 0o600))
	require.NotEmpty(t, findings(t, directory, storage.Fault))
	requireRepaired(t, directory, want)
	require.Empty(t, findings(t, directory, storage.Damage))
}

// TestRepairOfFaultsComesToAnEnd: what a copy has as well is no reason to repair it again and again.
func TestRepairOfFaultsComesToAnEnd(t *testing.T) {
	for name, channel := range map[string]mcaplib.Channel{
		"offers that are none": {SchemaID: 7, Metadata: map[string]string{"offered_qos_profiles": "not: [a list"}},
		"no schema":            {SchemaID: 0},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, "demo_0.mcap")
			file, err := os.Create(path)
			require.NoError(t, err)
			w, err := mcaplib.NewWriter(file, &mcaplib.WriterOptions{Chunked: true, IncludeCRC: true})
			require.NoError(t, err)
			require.NoError(t, w.WriteHeader(&mcaplib.Header{Profile: "ros2"}))
			require.NoError(t, w.WriteSchema(&mcaplib.Schema{ID: 7, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data")}))
			channel.ID, channel.Topic, channel.MessageEncoding = 1, "/a", "cdr"
			require.NoError(t, w.WriteChannel(&channel))
			for _, m := range storagetest.Messages(10, 0) {
				require.NoError(t, w.WriteMessage(&mcaplib.Message{ChannelID: 1, LogTime: uint64(m.LogTimeNanos), Data: m.Data}))
			}
			require.NoError(t, w.Close())
			require.NoError(t, file.Close())
			require.NotEmpty(t, findings(t, directory, storage.Fault))
			require.False(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Lost)
			before := snapshot(t, directory)
			require.Empty(t, reindex(t, directory, bag.ReindexOptions{Repair: true}).Repaired)
			require.Equal(t, before, snapshot(t, directory))
			require.Len(t, read(t, open(t, directory), bag.Query{}), 10)
		})
	}
}

// findings are those of the files of a directory, not of its metadata.yaml.
func findings(t *testing.T, directory string, severity storage.Severity) []string {
	t.Helper()
	var found []string
	_, err := bag.Verify(directory, bag.VerifyOptions{}, func(f storage.Finding) {
		if f.Severity == severity && filepath.Base(f.Path) != bag.MetadataName {
			found = append(found, f.String())
		}
	})
	require.NoError(t, err)
	return found
}
