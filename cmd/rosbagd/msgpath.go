package main

import (
	"os"

	"github.com/spf13/pflag"
)

// registerMsgPath adds --msg-path, which may be given several times.
func registerMsgPath(flags *pflag.FlagSet, paths *[]string) {
	flags.StringArrayVar(paths, "msg-path", nil,
		"`DIR` with packages (<package>/msg/<Name>.msg) whose types are not installed; may be repeated")
}

// checkMsgPath refuses what can not be a directory of packages.
func checkMsgPath(paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil {
			return usagef("--msg-path: %w", err)
		} else if !info.IsDir() {
			return usagef("--msg-path %s: must be a directory", path)
		}
	}
	return nil
}
