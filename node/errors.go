package node

import (
	"errors"
	"regexp"
	"strings"
)

var (
	// ErrClosed is returned by every method of a Node after Close.
	ErrClosed = errors.New("node is closed")
	// ErrNotInstalled is wrapped by errors about an interface package that this ROS does not have.
	ErrNotInstalled = errors.New("not installed")
)

// ArgumentError says what is wrong with the ROS arguments of the command line.
type ArgumentError struct{ Text string }

func (e *ArgumentError) Error() string { return e.Text }

// rclPlace is the place in its sources that rcl puts behind a sentence.
var rclPlace = regexp.MustCompile(`\s*,? at (\.?/)\S+:\d+`)

// cleanRCLError drops everything from the first place in rcl's sources on.
func cleanRCLError(text string) string {
	if place := rclPlace.FindStringIndex(text); place != nil && place[0] > 0 {
		text = text[:place[0]]
	}
	return text
}

// firstLine cuts the stack traces that rclgo puts behind its errors.
func firstLine(err error) error {
	text := cleanRCLError(strings.TrimSpace(err.Error()))
	if strings.HasPrefix(text, "[*rclgo.") {
		_, text, _ = strings.Cut(text, "] ")
	}
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		return errors.New(strings.TrimSpace(line))
	}
	return errors.New(text)
}
