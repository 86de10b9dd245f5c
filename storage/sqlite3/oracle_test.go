package sqlite3

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // an independent reader: SQLite through database/sql
)

// database/sql on a file as it lies there; options as in https://www.sqlite.org/uri.html.
func oracle(t testing.TB, path, options string) *sql.DB {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: options}).String())
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// selectAll gives what SQLite finds in a finished file.
func selectAll(t testing.TB, path, order string) []line {
	t.Helper()
	db := oracle(t, path, "mode=ro&immutable=1")
	rows, err := db.Query("SELECT topics.name, timestamp, data FROM messages JOIN topics ON topics.id = topic_id " + order)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var lines []line
	for rows.Next() {
		var l line
		var data []byte
		require.NoError(t, rows.Scan(&l.topic, &l.nanos, &data))
		l.digest = digest(data)
		lines = append(lines, l)
	}
	require.NoError(t, rows.Err())
	return lines
}
