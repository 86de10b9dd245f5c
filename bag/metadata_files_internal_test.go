package bag

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// TestFilesAreLaidOutAsByTheEncoder lets the encoder lay out anew what the metadata of many kinds of names is.
func TestFilesAreLaidOutAsByTheEncoder(t *testing.T) {
	special := []string{
		"a_0.mcap", "1.db3", "0x1.db3", "1e5.mcap", "true", "~", "null", "1.e5", "1_000", "0o7.db3", "2020-01-01", "2020-01-01.db3", "- x.mcap",
		"a: b.mcap", "#a.mcap", "ü_0.mcap", "a b_0.mcap", "a\nb.db3", " x.mcap", "x.mcap ", "", "'.mcap", `".mcap`, "-dash_0.mcap", "../x.mcap",
		"0_run_2026_01_02-10_00_00.mcap.zstd", "x.mcap.zstd", "𝔘_0.mcap", "\x01.mcap", "&a.mcap", "*a.mcap", "!a.mcap", "[a].mcap", "=.mcap", ".inf",
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(special), rapid.StringMatching(`[0-9a-fx._+-]{1,8}\.(mcap|db3)`), rapid.String())
		m := Metadata{StorageID: "mcap", Paths: rapid.SliceOf(name).Draw(t, "paths"), CustomData: map[string]string{"files": "x"}}
		for i, path := range rapid.SliceOf(name).Draw(t, "files") {
			m.Files = append(m.Files, FileInfo{Path: path, StartNanos: int64(i) * 1e18, Duration: 5, MessageCount: uint64(i)})
		}
		version := rapid.IntRange(OldestMetadataVersion, MetadataVersion).Draw(t, "version")
		for _, rooted := range []bool{true, false} {
			data, err := m.encode(version, rooted)
			require.NoError(t, err)
			var node yaml.Node
			require.NoError(t, yaml.Unmarshal(data, &node), "%s", data)
			again, err := encodeNode(node.Content[0])
			require.NoError(t, err)
			require.Equal(t, string(again), string(data))
			decoded, err := DecodeMetadata(MetadataName, data)
			require.NoError(t, err)
			require.ElementsMatch(t, m.Paths, decoded.Paths)
			if version >= filesVersion {
				require.Len(t, decoded.Files, len(m.Files))
				for i := range m.Files {
					require.Equal(t, m.Files[i].Path, decoded.Files[i].Path)
				}
			}
		}
	})
}

// TestFilesCostLittleToEncode: the writer encodes all of them at each split.
func TestFilesCostLittleToEncode(t *testing.T) {
	allocations := func(files int) float64 {
		m := Metadata{StorageID: "mcap"}
		for i := range files {
			name := fmt.Sprintf("run_2026_01_02-10_00_00_%d.mcap", i)
			m.Paths, m.Files = append(m.Paths, name), append(m.Files, FileInfo{Path: name})
		}
		return testing.AllocsPerRun(5, func() {
			_, err := m.Encode()
			require.NoError(t, err)
		})
	}
	// A node of YAML takes more than that alone, and a file has a dozen. The race detector empties pools now and then.
	require.Less(t, allocations(2000), allocations(20)+2*2000)
}
