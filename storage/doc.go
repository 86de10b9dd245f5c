// Package storage is ONE file of recorded messages: what every storage format has in common, its errors, and the
// registry that picks a format by id or by the content of a file. A bag, which is a directory of such files, is
// package bag's.
//
// Invariant: messages pass through undecoded. A storage knows topics, time stamps and bytes, never a message type.
//
// Life cycle of a Writer: Create, AddTopic and Write in any order, Flush and Sync whenever, then Seal exactly once;
// after Seal or after the first error of Write only Close is of use. Of a Reader: Open, Info, Messages, Close.
package storage
