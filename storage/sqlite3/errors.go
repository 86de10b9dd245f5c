package sqlite3

import "errors"

var (
	errTooLarge = errors.New("message is larger than the 1 GB that SQLite takes")
	errNoTopic  = errors.New("message of an unknown topic")
	errTime     = errors.New("time stamp lies before 1970")
)
