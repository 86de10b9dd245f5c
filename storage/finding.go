package storage

import "fmt"

// Severity says how bad a Finding is.
type Severity int

const (
	// Notice is what is allowed and may surprise.
	Notice Severity = iota
	// Fault is what breaks a rule of the format; every message can still be read.
	Fault
	// Damage is what costs messages, or may have.
	Damage
)

// Finding is one thing that is wrong with a file.
type Finding struct {
	Severity Severity
	Path     string
	Offset   int64 // bytes from the start of the file; -1 when it belongs to no place in it
	Text     string
}

// String is one line: file, place, what.
func (f Finding) String() string {
	if f.Offset < 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s: at byte %d: %s", f.Path, f.Offset, f.Text)
}

// Verification takes what Format.Verify meets. All functions are set, and are called one at a time. A place is the byte
// of the file at which something begins, or -1 where a format has no such thing.
type Verification struct {
	// Report takes what is wrong with the structure of the file. What is wrong with topics and payloads as such, which
	// is the same in every format, is found by who takes these.
	Report func(Finding)
	// Topic takes each topic when it turns up; definition is the place of its Definition. Ids count up from 0 in the
	// order of the calls.
	Topic func(topic Topic, place, definition int64)
	// Message takes each message that can be read, in the order of the file. Data is valid during the call only.
	Message func(m Message, place int64)
	// Progress takes how many bytes more have been looked at.
	Progress func(bytes int64)
}
