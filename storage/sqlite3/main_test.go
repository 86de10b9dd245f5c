package sqlite3

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// As in the program, where nobody else opens a database: once SQLite has taken a lock it changes their kind no more.
	useFileLocks()
	goleak.VerifyTestMain(m)
}
