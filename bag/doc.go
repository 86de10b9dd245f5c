// Package bag is a directory of recorded files and its metadata.yaml: a Writer that keeps what it was given safe within
// a stated time and splits into several files, a Reader over whatever is found at a path, and what is done with whole
// bags: Describe, Verify, Convert and Reindex.
//
// Invariant: an existing bag is never overwritten, reading changes nothing, and metadata.yaml is either whole or absent.
// A bag without metadata.yaml is readable: it is then rebuilt from the files.
//
// Files that are compressed whole: metadata.yaml lists only files that are there under the name that it gives. While a file
// is being compressed, and after a sudden end, it may be there under its own name, under that with the compressor's
// extension, or both; each is complete, and a Reader takes one of them. What ends in ".tmp" is nobody's.
//
// Memory of a Writer, whatever the size of the bag: two chunks for each file that is not sealed yet (usually one or two
// files, 17 at most; then splits are put off), what the format keeps as index, about 20 MB for each thread that compresses
// messages, and 9 MB (at the highest level 50 MB) for each that compresses a file. A message that is larger than these
// costs its own size once more.
//
// What is lost, at most: when the process dies, what was written in the last FlushAge (1 s); when power is lost, what was
// written in the last SyncAge (5 s), as far as the disk keeps up. Both hold while Run does.
//
// Memory of a Reader: what the format takes for each file that overlaps others in time (see there; for MCAP up to 16 MiB of
// chunks, one chunk as a rule), up to eight files that stay open for the next seek, and 48 MiB for each compressed file
// that is read while it is unpacked. Convert adds some 14 MB for each output.
//
// Life cycle of a Writer: Create; Run in its own goroutine; AddTopic, Write, Split in one other goroutine; Seal, which
// ends Run and writes metadata.yaml last. Of a Reader: Open, Metadata, Topics, Messages, Close.
package bag
