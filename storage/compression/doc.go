// Package compression is the table of compressors for whole bag files and for single messages: what rosbag2 calls
// compression_format. The compression of chunks within an MCAP file is that format's own affair.
//
// Invariant: what a frame claims of its size costs no memory out of proportion to the frame.
//
// Life cycle: none; look a Codec up and use its functions. What NewWriter and NewReader give is to be closed.
package compression
