package clock

import "errors"

var (
	// ErrRate is returned for a rate that is not a positive, finite number.
	ErrRate = errors.New("rate is not a positive number")
	// ErrFrequency is returned for a frequency that is not a number, or infinite.
	ErrFrequency = errors.New("frequency is not a finite number")
)
