package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rosbagd/bag"
	"rosbagd/storage/compression"
	"rosbagd/storage/formats"
)

// plugin is an entry of one of the tables. What rosbag2 finds as plugins is compiled in here.
type plugin struct{ name, description, typ, base string }

// pluginTypes are the words of `list`, in the order of rosbag2.
func pluginTypes() []string { return []string{"storage", "converter", "compressor", "decompressor"} }

// plugins gives the table behind a word.
func plugins(typ string) []plugin {
	var all []plugin
	switch typ {
	case "storage":
		for _, f := range formats.All() {
			all = append(all, plugin{f.ID, f.Description, "rosbagd/storage/" + f.ID, "storage.Format"})
		}
	case "converter":
		for _, c := range bag.Converters() {
			all = append(all, plugin{c.Name(), c.Description, "rosbagd/bag", "bag.Converter"})
		}
	case "compressor", "decompressor":
		for _, c := range compression.All() {
			all = append(all, plugin{c.ID, c.Description, "rosbagd/storage/compression", "compression.Codec"})
		}
	}
	return all
}

func newListCommand() *cobra.Command {
	verbose := false
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(pluginTypes(), "|"),
		Short: "Print which storages, converters and compressors there are",
		Long: `Prints which storages, converters, compressors or decompressors this program has, one a line, as rosbag2 does.
They are compiled in: C++ plugins of rosbag2 can not be loaded.`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("%s: say what: one of %s", cmd.CommandPath(), strings.Join(pluginTypes(), ", "))
			case len(args) > 1 || !slices.Contains(pluginTypes(), args[0]):
				return usagef("%s %s: choose one of %s", cmd.CommandPath(), strings.Join(args, " "), strings.Join(pluginTypes(), ", "))
			}
			return nil
		},
		ValidArgs: pluginTypes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if verbose {
				fmt.Fprintf(out, "available %s plugins are:\n", args[0])
			}
			for _, p := range plugins(args[0]) {
				if verbose {
					fmt.Fprintf(out, "name: %s\n\t%s\n\ttype: %s\n\tbase_class: %s\n", p.name, p.description, p.typ, p.base)
				} else {
					fmt.Fprintln(out, p.name)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print what each of them is")
	return cmd
}
