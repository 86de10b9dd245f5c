package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rosbagd/bag"
	"rosbagd/storage"
)

func newReindexCommand() *cobra.Command {
	var options bag.ReindexOptions
	cmd := &cobra.Command{
		Use:   "reindex BAG_DIRECTORY",
		Short: "Make metadata.yaml anew from the files of a bag, or repair these",
		Long: `Makes metadata.yaml anew from the files in a bag directory, whatever their names are. They go by the numbers in their
names, or by their first messages where these contradict. An old metadata.yaml gives what files do not keep; if it said
something else it stays as metadata.yaml.bak.

With --repair, each file that is damaged, was never finished or has no index is first written anew with everything that
can be read of it. The file as it was stays beside it as NAME.broken, which is no part of the bag.

Ends with 3 if a file had to be left out or is damaged; with --repair, if messages are missing or may be.`,
		Args: oneBag,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := signalContext(cmd.Context())
			defer cancel()
			options.OnRepaired = func(r bag.Repaired) {
				fmt.Fprintf(cmd.OutOrStdout(), "Repaired %s (%s): %d messages kept; as it was: %s\n", storage.Printable(r.Path),
					storage.Printable(r.Reason), r.Kept, storage.Printable(r.Broken))
				if r.Missing != "" {
					printWarning(cmd.ErrOrStderr(), "%s: messages may be missing: %s", r.Path, r.Missing)
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Beginning reindexing bag in directory: %s\n", args[0])
			result, err := bag.Reindex(ctx, args[0], options)
			if err != nil {
				return bagError(err)
			}
			for _, note := range result.Notes {
				printWarning(cmd.ErrOrStderr(), "%s", note)
			}
			if result.Kept != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "The old metadata is kept as %s\n", result.Kept)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "Reindexing complete.")
			if result.Lost {
				return errDataLost
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&options.StorageID, "storage", "s", "", "storage of the files (default: found by their content)")
	cmd.Flags().BoolVar(&options.Repair, "repair", false, "write broken files anew, keeping them as NAME.broken")
	return cmd
}
