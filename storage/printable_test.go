package storage_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

func TestPrintableLeavesNothingToTheTerminal(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"letters of all scripts", "/camera/ä日本😀", "/camera/ä日本😀"},
		{"escape sequences", "/a\x1b[2J\x07", "/a�[2J�"},
		{"escape sequences of one character", "/a\u009b2J", "/a�2J"},
		{"lines", "/a\nb\rc\td", "/a�b�c�d"},
		{"other lines", "/a\u2028b\u2029c", "/a�b�c"},
		{"directions of writing", "/a\u202ecba\u2066", "/a�cba�"},
		{"bytes that are no text", "/a\xff", "/a�"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, storage.Printable(c.text)) })
	}
}

func TestPrintableJSONSaysTheSame(t *testing.T) {
	said := map[string]string{"/a\u009b2J\x7f\u202ecba": "x\x1b\n\u2028ä日😀\\u202e"}
	plain, err := json.MarshalIndent(said, "", "  ")
	require.NoError(t, err)
	document := storage.PrintableJSON(plain)
	require.False(t, bytes.ContainsAny(document, "\u009b\x7f\u202e\u2028\x1b"))
	var got map[string]string
	require.NoError(t, json.Unmarshal(document, &got))
	require.Equal(t, said, got)
	require.Contains(t, string(document), "ä日😀")
}
