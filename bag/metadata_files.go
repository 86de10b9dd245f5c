package bag

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"time"
)

// writeFiles writes the keys relative_file_paths and files as the encoder would, behind an indentation.
func (m Metadata) writeFiles(out *bytes.Buffer, version int, indent string) error {
	line := func(parts ...string) {
		out.WriteString(indent)
		for _, part := range parts {
			out.WriteString(part)
		}
		out.WriteByte('\n')
	}
	list := func(key string, length int) {
		if length == 0 {
			line(key, ": []")
			return
		}
		line(key, ":")
	}
	number := func(key string, value uint64) {
		out.WriteString(indent)
		out.WriteString(key)
		out.Write(strconv.AppendUint(out.AvailableBuffer(), value, 10))
		out.WriteByte('\n')
	}
	list("relative_file_paths", len(m.Paths))
	for _, path := range m.Paths {
		scalar, err := pathText(path)
		if err != nil {
			return err
		}
		line("  - ", scalar)
	}
	if version < filesVersion {
		return nil
	}
	list("files", len(m.Files))
	for _, f := range m.Files {
		scalar, err := pathText(f.Path)
		if err != nil {
			return err
		}
		line("  - path: ", scalar)
		line("    starting_time:")
		number("      nanoseconds_since_epoch: ", startNumber(f.StartNanos, f.MessageCount))
		line("    duration:")
		number("      nanoseconds: ", durationNumber(f.Duration))
		number("    message_count: ", f.MessageCount)
	}
	return nil
}

// plainPath is a name that YAML takes for a string without quotes, whatever stands before the extension: nothing else that
// YAML knows ends so.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*\.(mcap|db3)(\.zstd)?$`)

func pathText(path string) (string, error) {
	if plainPath.MatchString(path) {
		return path, nil
	}
	scalar, err := encodeNode(text(path))
	return string(scalar), err
}

func startNumber(nanos int64, messages uint64) uint64 {
	if messages == 0 {
		return math.MaxInt64 // rosbag2's mark of an empty bag
	}
	return uint64(max(nanos, 0))
}

func durationNumber(d time.Duration) uint64 { return uint64(max(d, 0)) }
