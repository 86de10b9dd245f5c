package sqlite3

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

func TestFilesOfRosbag2AreSound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden, "*", "*.db3"))
	require.NoError(t, err)
	for _, path := range files {
		for _, finding := range verifyAll(t, path) {
			require.Equal(t, storage.Notice, finding.Severity, finding.String())
		}
	}
}

func TestVerifyFinds(t *testing.T) {
	metadata := func(count int) string {
		return fmt.Sprintf("INSERT INTO metadata (metadata_version, metadata) VALUES (9, 'version: 9\nmessage_count: %d')", count)
	}
	tests := map[string]struct {
		statements []string
		severity   storage.Severity
		text       string
	}{
		"negative time":  {[]string{"INSERT INTO messages VALUES (1, 1, -5, x'')"}, storage.Fault, "before 1970, the first is -5 ns"},
		"foreign topic":  {[]string{"INSERT INTO messages VALUES (1, 9, 5, x'')"}, storage.Damage, "1 messages of topics that it does not list (ids 9)"},
		"no index":       {[]string{"DROP INDEX timestamp_idx"}, storage.Fault, "no index on messages(timestamp)"},
		"offers":         {[]string{"UPDATE topics SET offered_qos_profiles = 'x'"}, storage.Fault, "topic /a: parse offered qos profiles"},
		"topic twice":    {[]string{"INSERT INTO topics VALUES (2, '/a', 'a/msg/B', 'cdr', '', '')"}, storage.Fault, "topic /a is listed more than once"},
		"counts":         {[]string{metadata(4)}, storage.Fault, "tells of 4 messages, there are 0"},
		"start metadata": {[]string{metadata(0), "INSERT INTO messages VALUES (1, 1, 5, x'')"}, storage.Notice, "it was not closed"},
		"newer schema":   {[]string{"UPDATE schema SET schema_version = 12"}, storage.Notice, "schema version 12 is newer"},
		"bad metadata":   {[]string{"INSERT INTO metadata VALUES (1, 9, 'a: [')"}, storage.Fault, "copy of the metadata can not be read"},
		"row twice in index": {[]string{
			"INSERT INTO messages VALUES (1, 1, 5, x'')", "PRAGMA writable_schema=ON",
			"UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'messages'",
		}, -1, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			db := oracle(t, path, "mode=rwc")
			makeTables(t, db, 4)
			for _, statement := range append([]string{"INSERT INTO topics VALUES (1, '/a', 'a/msg/B', 'cdr', '', '')"}, test.statements...) {
				_, err := db.Exec(statement)
				require.NoError(t, err)
			}
			require.NoError(t, db.Close())
			findings := verifyAll(t, path)
			if test.text == "" {
				require.Empty(t, findings)
				return
			}
			require.Len(t, findings, 1)
			require.Contains(t, findings[0].Text, test.text)
			require.Equal(t, test.severity, findings[0].Severity)
		})
	}
}

func TestVerifyOfDamagedFiles(t *testing.T) {
	s := newSample(t, 9, 300)
	for name, change := range map[string]func([]byte) []byte{
		"cut": func(file []byte) []byte { return file[:len(file)-5000] },
		"zeroed": func(file []byte) []byte {
			page := 10 * testPage
			for file[page] != tableLeaf {
				page += testPage
			}
			clear(file[page : page+testPage])
			return file
		},
		"only a begin": func(file []byte) []byte { return file[:50] },
		"free list":    func(file []byte) []byte { file[39] = 7; return file },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db3")
			require.NoError(t, os.WriteFile(path, change(append([]byte(nil), s.file...)), 0o600))
			findings := verifyAll(t, path)
			require.True(t, slices.ContainsFunc(findings, func(f storage.Finding) bool { return f.Severity == storage.Damage }))
		})
	}
}

func TestVerifyOfAFileThatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := Create(path, storage.CreateOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	_, err = w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	require.NoError(t, w.Write(storagetest.Messages(10, 0)))
	require.NoError(t, w.Flush())
	findings := verifyAll(t, path)
	require.Len(t, findings, 1)
	require.Equal(t, storage.Notice, findings[0].Severity)
}
