//go:build !linux

package mcap

import "os"

// writeVector writes all parts one after the other.
func writeVector(file *os.File, parts [][]byte) (int64, error) {
	var written int64
	for _, part := range parts {
		n, err := file.Write(part)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
