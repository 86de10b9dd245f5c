package main

import (
	"errors"

	"github.com/spf13/cobra"

	"rosbagd/bag"
)

func newInfoCommand() *cobra.Command {
	var (
		storageID string
		options   bag.InfoOptions
	)
	cmd := &cobra.Command{
		Use:   "info BAG",
		Short: "Print what is in a bag (a directory or a single file)",
		Args:  oneBag,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch options.Sort {
			case bag.SortName, bag.SortType, bag.SortCount:
			default:
				return usagef("--sort %q: choose one of name, type, count", options.Sort)
			}
			reader, err := openBag(args[0], storageID)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, reader.Close()) }()
			if options.TopicNames && options.Verbose {
				printWarning(cmd.ErrOrStderr(), "You have set both the '-t' and '-v' parameters. The '-t' parameter will be ignored.")
			}
			if err := bag.WriteInfo(cmd.OutOrStdout(), reader, options); err != nil {
				return err
			}
			printNotes(cmd.ErrOrStderr(), reader)
			return nil
		},
	}
	cmd.Flags().StringVarP(&storageID, "storage", "s", "", "storage of the bag (default: found by its content)")
	cmd.Flags().BoolVarP(&options.TopicNames, "topic-name", "t", false, "print the names of the topics only")
	cmd.Flags().BoolVarP(&options.Verbose, "verbose", "v", false, "print sizes per topic, and requests and responses of services; reads the whole bag")
	cmd.Flags().StringVar((*string)(&options.Sort), "sort", "name", "order of the topics: name, type or count")
	return cmd
}
