//go:build !ros

package main

import (
	"context"
	"errors"
	"io"

	"rosbagd/node/param"
)

// errFilesOnly is what the file-only build says to everything that needs a ROS graph.
var errFilesOnly = &usageError{errors.New("this build works on files only and can not join a ROS graph; " +
	"build the full one with 'make build' on a machine with ROS 2")}

// needsROS is put behind the help of verbs that this build can not carry out.
const needsROS = " (not in this build)"

// parameterOverrides has nothing to read ROS arguments with; the verb is refused in the end.
func parameterOverrides(*nodeFlags) (param.Overrides, error) { return nil, nil }

func runRecord(context.Context, *recordCall) error { return errFilesOnly }

func runRecorder(context.Context, *recordCall) error { return errFilesOnly }

func runPlay(context.Context, *playCall, io.Writer) error { return errFilesOnly }
