// Package mcap is the MCAP storage: one .mcap file with the profile "ros2".
//
// Invariant of writing: the file has its final name from its first byte and is, after every chunk, readable up to
// there. A chunk is never written in part: when writing fails, the torn tail is cut off.
//
// Invariant of reading: any bytes whatsoever give messages or errors, never a panic. Nothing is created or changed; every
// read is a ReadAt, so several iterators may run at once. Memory is some 100 bytes for each 64 chunks of the file (15 bytes
// more for each chunk when it has no summary) and that of the chunks that are being read: 16 MiB of them, or four where
// these are larger. A compressed chunk takes at most what its compression can pack at best, 32,768 times
// the stored bytes for zstd and 255 times for lz4; everything else takes no more than the file has.
//
// A file that was cut off, lost pages or has wrong bytes gives the messages of every complete chunk. With a summary, a
// damaged chunk shows when it is read, as a *storage.CorruptionError. Without one the whole file is gone through when it
// is opened, Info.Damage says what is missing, and iterators do not repeat it; of a file that is only unfinished, the
// last 256 MiB are checked byte for byte then, the rest when it is read. What carries no checksum, such as the name of a
// topic or chunks without one, can be wrong without a sign.
//
// By log time and in the order of the file, the order is exact. No record tells when the messages of a chunk were sent:
// by publish time, the order is exact in files of up to 64 MiB, and beyond that for messages received within 2 s of being
// sent; one that took longer is given as soon as it is met.
//
// Life cycle: Create, AddTopic and Write, Flush, Sync, Seal, Close; Open, Info, Messages, Close. See package storage.
package mcap
