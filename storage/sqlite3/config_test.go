package sqlite3

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// TestPresetsAreThePragmasThatAreDocumented holds docs/storage-config.md to the code, and parses its example.
func TestPresetsAreThePragmasThatAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/storage-config.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## SQLite\n")
	require.True(t, found)
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)
	require.NotNil(t, example)
	for _, name := range []string{sectionRead, sectionWrite} {
		pragmas, err := configPragmas(storage.Config{Path: "x.yaml", Data: []byte(example[1])}, name)
		require.NoError(t, err)
		require.NotEmpty(t, pragmas)
	}
	for _, name := range Format().Presets {
		block := regexp.MustCompile("(?s)\n`" + name + "`[^`]*\n\n```yaml\n(.*?)```").FindStringSubmatch(section)
		require.NotNil(t, block, "docs/storage-config.md does not show the preset %s", name)
		shown, err := configPragmas(storage.Config{Path: "x.yaml", Data: []byte(block[1])}, sectionWrite)
		require.NoError(t, err)
		preset, err := presetPragmas(name)
		require.NoError(t, err)
		require.Equal(t, preset, shown, name)
	}
}

func TestAWrongConfigIsToldInTermsOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "it has no section 'write' with pragmas",
		"# nothing":                       "it has no section 'write' with pragmas",
		"compression: Zstd":               "it has no section 'write' with pragmas",
		"hello":                           "it has no sections 'read' and 'write'",
		"wirte: {pragmas: [a = 1]}":       "it has no section 'write' with pragmas",
		"write: Lz4":                      "line 1: section 'write' is no map with the key pragmas",
		"write: [a = 1]":                  "line 1: section 'write' is no map with the key pragmas",
		"write:\n  pragma: [a = 1]":       "unknown key pragma (known: pragmas)",
		"write:\n  pragmas: a = 1":        "line 2: pragmas of section 'write' are no list of texts",
		"write:\n\tpragmas: []":           "found character that cannot start any token",
		"write: {pragmas: [\"a = 'x'\"]}": "Avoid following characters",
	} {
		_, err := configPragmas(storage.Config{Path: "x.yaml", Data: []byte(text)}, sectionWrite)
		require.ErrorContains(t, err, want, "%q", text)
		require.ErrorContains(t, err, "x.yaml: ", "%q", text)
		require.NotContains(t, err.Error(), "!!", "%q", text)
		require.NotContains(t, err.Error(), "struct", "%q", text)
	}
	for _, text := range []string{"write:", "write: {}", "write: {pragmas: []}", "write: &w {pragmas: [a = 1, b]}\nread: *w"} {
		_, err := configPragmas(storage.Config{Path: "x.yaml", Data: []byte(text)}, sectionWrite)
		require.NoError(t, err, "%q", text)
	}
}
