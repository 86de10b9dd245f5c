// Package compression is the table of compressors for whole bag files and for single messages: what rosbag2 calls
// compression_format. The compression of chunks within an MCAP file is that format's own affair.
package compression
