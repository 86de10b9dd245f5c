// Package sqlite3 is the storage of SQLite files (.db3) as rosbag2 writes them, schema versions 1 to 4.
//
// Writing goes through SQLite. Reading does not: this package follows the pages of the file format itself
// (https://www.sqlite.org/fileformat2.html). So nothing is created beside a file that is only read, not even where a
// write-ahead log was left behind; no view or trigger of a file is ever run; a program that records into the file is
// never held up; and a file that SQLite refuses as malformed is read as far as it goes.
//
// Invariant: what is given of a message is what was committed, whole, once.
//
// Memory of a Writer: a transaction of up to 1 MiB of payloads, and SQLite's own cache of 2 MB. Memory of an iterator: up to
// 1 MiB of pages and 1 MiB of messages ahead; a file without an index on time stamps, or a damaged one, costs up to 16 MiB
// more for sorting, a damaged one 32 bytes for each page of messages besides.
//
// What is lost, at most, with the preset "resilient": when the process dies, what was written after the last Flush; when
// power is lost, what was flushed after the last Sync. With "none" the file itself may be lost.
//
// Life cycle: see package storage. The preset "resilient", the default, keeps a write-ahead log while a file is
// written, which Seal folds into the file.
package sqlite3
