package main

import (
	"io/fs"
	"os"
	"path/filepath"

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
		} else if !hasPackages(path) {
			return usagef("--msg-path %s: no package is in it, there must be <package>/msg/<Name>.msg below it", path)
		}
	}
	return nil
}

// hasPackages says whether definitions are where they are looked for: in packages, or in those of an installation.
func hasPackages(directory string) bool {
	for _, below := range []string{"", "share"} {
		for _, files := range []string{"msg/*.msg", "srv/*.srv", "action/*.action", "*/*.idl"} {
			found, err := fs.Glob(os.DirFS(filepath.Join(directory, below)), "*/"+files) // fails for a malformed pattern only
			if err == nil && len(found) > 0 {
				return true
			}
		}
	}
	return false
}
