package mcap

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// documented are the lines of docs/storage-config.md about MCAP.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/storage-config.md")
	require.NoError(t, err)
	_, behind, found := strings.Cut(string(text), "\n## MCAP\n")
	require.True(t, found)
	section, _, found := strings.Cut(behind, "\n## ")
	require.True(t, found)
	return section
}

// TestEachKeyIsDocumented holds the table of keys, their words and their defaults equal to what a config can set.
func TestEachKeyIsDocumented(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+?) \\| `?(\\w+)`? \\| (.+) \\|$").FindAllStringSubmatch(documented(t), -1)
	keys := map[string]bool{}
	for _, row := range rows {
		key, values, usual := row[1], row[2], row[3]
		require.False(t, keys[key], "%s stands twice", key)
		keys[key] = true
		var options Options
		require.NoError(t, options.apply(yamlConfig(key+": "+usual)), "the default")
		if key == "chunkSize" {
			require.Equal(t, options.limit(), (&Options{}).limit())
			options.ChunkSize = 0
		}
		require.Equal(t, Options{}, options, "%s: %s is not the default", key, usual)

		err := options.apply(yamlConfig(key + ": nonsense"))
		require.Error(t, err, key)
		told := strings.ReplaceAll(values, "`", "")
		switch values {
		case "true, false":
			require.ErrorContains(t, err, "is neither true nor false", key)
		case "1 to 2147483648":
			require.ErrorContains(t, err, "from "+told, key)
		default:
			require.ErrorContains(t, err, "(known: "+told+")", key)
		}
	}
	for key := range (&Options{}).configKeys() {
		require.True(t, keys[key], "docs/storage-config.md does not have the key %s", key)
	}
}

// TestPresetsAreTheConfigsThatAreDocumented also parses every other example of that section.
func TestPresetsAreTheConfigsThatAreDocumented(t *testing.T) {
	section := documented(t)
	for _, example := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, -1) {
		require.NoError(t, (&Options{}).apply(yamlConfig(example[1])), example[1])
	}
	for _, name := range Format().Presets {
		block := regexp.MustCompile("(?s)\n`" + name + "`[^`]*\n\n```yaml\n(.*?)```").FindStringSubmatch(section)
		require.NotNil(t, block, "docs/storage-config.md does not show the preset %s", name)
		var shown Options
		require.NoError(t, shown.apply(yamlConfig(block[1])))
		preset, err := Preset(name)
		require.NoError(t, err)
		require.Equal(t, preset, shown, name)
	}
}

func yamlConfig(text string) storage.Config {
	return storage.Config{Path: "x.yaml", Data: []byte(text)}
}
