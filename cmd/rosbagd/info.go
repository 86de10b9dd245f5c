package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rosbagd/bag"
)

type infoCall struct {
	storageID string
	sort      string
	verbose   bool
	json      bool
	text      bag.InfoText
}

func newInfoCommand() *cobra.Command {
	var c infoCall
	cmd := &cobra.Command{
		Use:   "info BAG",
		Short: "Print what is in a bag (a directory or a single file)",
		Long: `Prints what is in a bag, a directory or a single file, as rosbag2 does. Without -v no message is read, however large
the bag is. With -v all of it is read, for the size, the frequency and the largest gap of each topic, requests and
responses of services and actions, and what the recorder noted of its losses.

What is unfinished or damaged is said in warnings. Ends with 1 if nothing of the bag can be read.`,
		Args: oneBag,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.storageID, "storage", "s", "", "storage of the bag (default: found by its content)")
	flags.BoolVarP(&c.text.TopicNames, "topic-name", "t", false, "print the names of the topics only")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "print sizes, frequencies and calls too; reads the whole bag")
	flags.StringVar(&c.sort, "sort", "name", "order of the topics: name, type or count")
	flags.BoolVar(&c.json, "json", false, "print one JSON document, with the keys and units of metadata.yaml (docs/json.md)")
	return cmd
}

func (c *infoCall) run(cmd *cobra.Command, path string) (err error) {
	by := bag.Sort(c.sort)
	switch by {
	case bag.SortName, bag.SortType, bag.SortCount:
	default:
		return usagef("--sort %q: choose one of name, type, count", c.sort)
	}
	if c.json && c.text.TopicNames {
		return usagef("--json and --topic-name: choose one of them")
	}
	unpack := bag.UnpackOptions{Progress: showUnpacking(cmd.ErrOrStderr())}
	reader, err := bag.Open(path, bag.ReaderOptions{StorageID: c.storageID, Unpack: unpack})
	if err != nil {
		return bagError(err)
	}
	readable := reader.CheckFiles()
	defer func() { err = errors.Join(err, reader.Close()) }()
	if c.text.TopicNames && c.verbose {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning! You have set both the '-t' and '-v' parameters. The '-t' parameter will be ignored.")
	}
	info, err := bag.Describe(reader, c.verbose, by)
	if err != nil {
		return err
	}
	if c.json {
		err = info.WriteJSON(cmd.OutOrStdout(), reader.Notes())
	} else {
		err = info.WriteText(cmd.OutOrStdout(), c.text)
	}
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), reader)
	if !readable {
		return fmt.Errorf("%s: none of its files can be read; what is shown is what metadata.yaml tells", path)
	}
	return nil
}
