// Package sqlite3 is the storage of SQLite files (.db3) as rosbag2 writes them.
package sqlite3
