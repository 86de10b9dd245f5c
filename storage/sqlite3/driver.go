package sqlite3

import _ "modernc.org/sqlite" // the driver, without cgo: file verbs must build without it
