//go:build ros

package node

import (
	"fmt"
	"os"
	"regexp"
)

// What rcl says about arguments that set parameters.
var (
	badParameterFile = regexp.MustCompile(`(?s)Couldn't parse params file: '--params-file (.*)'\. Error: (.*)`)
	badParameterRule = regexp.MustCompile(`(?s)Couldn't parse parameter override rule: '(?:-p|--param) (.*)'\. Error: (.*)`)
)

// explainArgument makes of rcl's sentence about bad ROS arguments one that says what, where and what to do.
func explainArgument(text string, rosArgs []string) error {
	for i, arg := range rosArgs {
		if arg != "--params-file" || i+1 == len(rosArgs) {
			continue
		}
		// rcl has one sentence for every reason why a file can not be opened.
		file, err := os.Open(rosArgs[i+1])
		if err != nil {
			return &ArgumentError{Text: fmt.Sprintf("--params-file: %v", err)}
		}
		info, err := file.Stat()
		file.Close() //nolint:errcheck // nothing was written
		if err == nil && info.IsDir() {
			return &ArgumentError{Text: fmt.Sprintf("--params-file %s: is a directory, give a YAML file in it", rosArgs[i+1])}
		}
	}
	if found := badParameterFile.FindStringSubmatch(text); found != nil {
		text = fmt.Sprintf("--params-file %s: %s (a parameter file reads NODE: {ros__parameters: {NAME: VALUE}})", found[1], found[2])
	} else if found := badParameterRule.FindStringSubmatch(text); found != nil {
		text = fmt.Sprintf("-p %s: must be NAME:=VALUE or NODE:NAME:=VALUE with a value in YAML (%s)", found[1], found[2])
	}
	return &ArgumentError{Text: text}
}
