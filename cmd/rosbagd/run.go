package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"rosbagd/storage"
)

// The exit codes of docs/exit-codes.md.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitDataLost = 3
)

// usageError is a call that can not be carried out as it was written: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errDataLost ends work that was done, but not with all messages that there were: exit code 3. It was reported already.
var errDataLost = errors.New("messages were lost")

// run carries out one call and returns its exit code. Results go to stdout, everything else to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	args, rosArgs := splitROSArgs(args)
	root := newRootCommand(rosArgs)
	args = expandArgs(args)
	root.SetArgs(append([]string{}, args...)) // for nil the library would take the process's own, ROS arguments included
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(args[0], "-") { // the flags of a verb that is not there
			return unknownVerb(root, args[:1])
		}
		return flagError(cmd, err)
	})
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDataLost):
		return exitDataLost
	case errors.As(err, &usage):
		printError(stderr, err)
		return exitUsage
	default:
		printError(stderr, err)
		return exitFailed
	}
}

func printError(w io.Writer, err error) {
	// One line, whatever a library put into its message.
	text := strings.Join(strings.Fields(err.Error()), " ")
	fmt.Fprintf(w, "[ERROR] [rosbagd]: %s\n", storage.Printable(text))
}

func printWarning(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "[WARN] [rosbagd]: %s\n", storage.Printable(fmt.Sprintf(format, args...)))
}

// count is a number of things in words.
func count[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}
