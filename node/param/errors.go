package param

import (
	"errors"
	"fmt"
)

// Why a change is refused. What Set and SetAtomically return wraps one of these, a *TypeError, or what a callback or
// Live.Set gave as its reason.
var (
	ErrNotDeclared = errors.New("is not declared")
	ErrReadOnly    = errors.New("is read-only")
	ErrRange       = errors.New("value is out of range")
	// ErrStaticType is the answer to an attempt to remove a parameter by setting it to no value.
	ErrStaticType = errors.New("can not be removed, its type is fixed")
	ErrNothing    = errors.New("there is nothing to set")
)

// TypeError says that a parameter of a fixed type was given a value of another.
type TypeError struct {
	Want Type
	Got  Value
}

func (e *TypeError) Error() string {
	text := fmt.Sprintf("wrong type: %v is of type %v, it must be of type %v", e.Got, e.Got.kind, e.Want)
	if number, ok := As[int64](e.Got); ok && e.Want == Double {
		text += ", write " + double(float64(number))
	}
	return text
}

// Error says which parameter was refused, with what value it was to begin or change to, and why.
type Error struct {
	Name   string
	Source string // where the value comes from, for a value from the command line or a file; else empty
	Err    error
}

func (e *Error) Error() string {
	if e.Source != "" {
		return fmt.Sprintf("parameter %s (%s): %v", e.Name, e.Source, e.Err)
	}
	return fmt.Sprintf("parameter %s: %v", e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
