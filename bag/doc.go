// Package bag is a directory of recorded files and its metadata.yaml: a Writer that keeps what it was given safe within
// a stated time and splits into several files, a Reader over whatever is found at a path, and the text of "info".
//
// Invariant: an existing bag is never overwritten, reading changes nothing, and metadata.yaml is either whole or absent.
// A bag without metadata.yaml is readable: it is then rebuilt from the files.
//
// Life cycle of a Writer: Create; Run in its own goroutine; AddTopic, Write, Split in one other goroutine; Seal, which
// ends Run and writes metadata.yaml last. Of a Reader: Open, Metadata, Topics, Messages, Close.
package bag
