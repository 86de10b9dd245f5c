package main

import (
	"errors"

	"github.com/spf13/cobra"

	"rosbagd/bag"
	"rosbagd/storage"
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
			reader, err := bag.Open(args[0], bag.ReaderOptions{StorageID: storageID})
			if err != nil {
				return bagError(err)
			}
			defer func() { err = errors.Join(err, reader.Close()) }()
			reader.CheckFiles()
			if options.TopicNames && options.Verbose {
				printWarning(cmd.ErrOrStderr(), "You have set both the '-t' and '-v' parameters. The '-t' parameter will be ignored.")
			}
			if err := bag.WriteInfo(cmd.OutOrStdout(), reader, options); err != nil {
				return err
			}
			for _, note := range reader.Notes() {
				printWarning(cmd.ErrOrStderr(), "%s", note)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&storageID, "storage", "s", "", "storage of the bag (default: found by its content)")
	cmd.Flags().BoolVarP(&options.TopicNames, "topic-name", "t", false, "print the names of the topics only")
	cmd.Flags().BoolVarP(&options.Verbose, "verbose", "v", false, "print sizes per topic, and requests and responses of services; reads the whole bag")
	cmd.Flags().StringVar((*string)(&options.Sort), "sort", "name", "order of the topics: name, type or count")
	return cmd
}

// bagError makes wrong usage of errors about what was asked for, as opposed to what is in the bag.
func bagError(err error) error {
	var missing *bag.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, storage.ErrUnknownStorage) || errors.Is(err, bag.ErrOtherStorage) {
		return &usageError{err}
	}
	return err
}
