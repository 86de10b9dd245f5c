// Package mcap is the MCAP storage: one .mcap file with the profile "ros2".
//
// Invariant of writing: the file has its final name from its first byte and is, after every chunk, readable up to
// there. A chunk is never written in part: when writing fails, the torn tail is cut off.
//
// Invariant of reading: any bytes whatsoever give messages or errors, never a panic, and never more memory than the
// file itself justifies. Nothing is created or changed; every read is a ReadAt, so several iterators may run at once.
//
// Life cycle: Create, AddTopic and Write, Flush, Sync, Seal, Close; Open, Info, Messages, Close. See package storage.
package mcap
