package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// withVerb gives the arguments of a call: a program that is called player or recorder, as `ros2 run` and launch files
// find it in lib/rosbagd, has its name for a verb.
func withVerb(call []string) []string {
	if len(call) == 0 {
		return nil
	}
	if name := filepath.Base(call[0]); name == "player" || name == "recorder" {
		return append([]string{name}, call[1:]...)
	}
	return call[1:]
}

// splitROSArgs takes what stands between --ros-args and -- (or the end) out of the arguments, as every ROS program
// does. The markers are left out of both results.
func splitROSArgs(args []string) (rest, rosArgs []string) {
	inROS := false
	for _, arg := range args {
		switch {
		case arg == "--ros-args":
			inROS = true
		case inROS && arg == "--":
			inROS = false
		case inROS:
			rosArgs = append(rosArgs, arg)
		default:
			rest = append(rest, arg)
		}
	}
	return rest, rosArgs
}

// listFlags take all words up to the next flag, as `ros2 bag` (argparse) has it.
func listFlags() []string {
	return []string{
		"--topics", "--topic-types", "--services", "--actions", "--exclude-topics", "--exclude-topic-types",
		"--exclude-services", "--exclude-actions", "--clock-topics", "--remap", "-m", "--custom-data",
	}
}

// expandArgs rewrites the forms of argparse that pflag does not know: lists of words after one flag, and the number
// that may or may not follow --clock.
func expandArgs(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case i > 0 && args[0] == "convert" && (arg == "-i" || arg == "--input") && i+1 < len(args):
			first := i + 1 // taken whatever it looks like, as the value of any flag
			for i++; i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"); {
				i++
			}
			out = append(out, arg, strings.Join(args[first:i+1], wordSeparator))
		case slices.Contains(listFlags(), arg):
			first := i
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				out = append(out, arg, args[i])
			}
			if i == first {
				out = append(out, arg) // pflag says that a value is missing
			}
		case arg == "--clock" && i+1 < len(args) && isNumber(args[i+1]):
			i++
			out = append(out, arg+"="+args[i])
		default:
			out = append(out, arg)
		}
	}
	return out
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
