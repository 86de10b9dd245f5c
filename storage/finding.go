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
