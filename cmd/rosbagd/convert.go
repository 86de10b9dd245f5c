package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// convertCall is one call of convert: its flags as they were given.
type convertCall struct {
	inputs        inputsFlag
	inputOptions  string
	output        string
	outputOptions string
	plain         convertFlags
}

func newConvertCommand() *cobra.Command {
	call := &convertCall{}
	cmd := &cobra.Command{
		Use:   "convert BAG... -o OUTPUT",
		Short: "Rewrite bags: storage, compression, topics, times, splits; merge several into one",
		Long: `Rewrite bags. The messages of all inputs, merged by the time they were received, go to one new bag, or to several with
rosbag2's output options. They are not decoded; where nothing in it changes, a whole chunk is copied as it is.

-o takes rosbag2's output options (an existing YAML file, root key output_bags) or the directory of the new bag, which
must not exist. With a directory, flags say what goes into it: without any selection everything does.

The new bags get their names when they are whole. Interrupted, or when something fails, nothing stays behind (after
kill -9 a directory .NAME.partial-... may). Inputs are not changed. What is damaged in them is left out: exit code 3.`,
		Example: `  rosbagd convert run1 -o run1_mcap -s mcap                 another storage
  rosbagd convert a b c -o merged                           merge
  rosbagd convert run1 -o part --start-offset 10 --duration 5 --topics /imu /odom
  rosbagd convert run1 -o small --storage-preset-profile zstd_small
  rosbagd convert run1 -o old --distro humble               for an older ROS
  rosbagd convert -i run1 sqlite3 -i run2 -o options.yaml   as ros2 bag convert`,
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := call.options(cmd, args)
			if err != nil {
				return err
			}
			return runConvert(cmd, options)
		},
	}
	flags := cmd.Flags()
	flags.VarP(&call.inputs, "input", "i", "bag to read, and its storage: `URI [STORAGE]`; give the flag for each bag")
	flags.StringVar(&call.inputOptions, "input-options", "", "YAML `FILE` with the bags to read (root key input_bags), instead of --input")
	flags.StringVarP(&call.output, "output", "o", "", "output options (a YAML `FILE` that exists), or the directory of the new bag")
	flags.StringVar(&call.outputOptions, "output-options", "", "YAML `FILE` with output options (root key output_bags)")
	call.plain.register(flags)
	return cmd
}

// options turns flags and files into what is to be done.
func (c *convertCall) options(cmd *cobra.Command, args []string) (bag.ConvertOptions, error) {
	var options bag.ConvertOptions
	var err error
	if options.Inputs, err = c.readInputs(args); err != nil {
		return options, err
	}
	file, directory, err := c.whereTo()
	if err != nil {
		return options, err
	}
	if file == "" {
		output, err := c.plain.output(cmd.Flags(), directory)
		if err != nil {
			return options, err
		}
		options.Outputs = []bag.ConvertOutput{output}
		return options, nil
	}
	if given := c.plain.given(cmd.Flags()); len(given) > 0 {
		return options, usagef("%s: not together with a file of output options, where it can be said instead", strings.Join(given, ", "))
	}
	data, err := readOptionsFile(file)
	if err != nil {
		return options, fmt.Errorf("--output-options: %w", err)
	}
	if options.Outputs, err = bag.ParseOutputs(file, data, readOptionsFile); err != nil {
		return options, err
	}
	return options, nil
}

func (c *convertCall) readInputs(args []string) ([]bag.ConvertInput, error) {
	inputs := make([]bag.ConvertInput, 0, len(args)+len(c.inputs))
	for _, path := range args {
		inputs = append(inputs, bag.ConvertInput{Path: path})
	}
	inputs = append(inputs, c.inputs...)
	for _, input := range inputs {
		if input.Path == "" {
			return nil, usagef("rosbagd convert: the path of a bag is empty")
		}
		if input.StorageID != "" {
			if _, err := formats.Lookup(input.StorageID); err != nil {
				return nil, usagef("--input %s %s: %w; the second word is a storage, give --input for each bag", input.Path, input.StorageID, err)
			}
		}
	}
	switch {
	case c.inputOptions == "" && len(inputs) == 0:
		return nil, usagef("rosbagd convert: give the bags to convert, before flags that take a list, or with --input")
	case c.inputOptions == "":
		return inputs, nil
	case len(inputs) > 0:
		return nil, usagef("--input-options: not together with --input or other bags, which it lists")
	}
	data, err := readOptionsFile(c.inputOptions)
	if err != nil {
		return nil, fmt.Errorf("--input-options: %w", err)
	}
	if inputs, err = bag.ParseInputs(c.inputOptions, data, readOptionsFile); err != nil {
		return nil, err
	}
	return inputs, nil
}

// whereTo tells a file of output options from a directory to be made: the file is there, the directory is not.
func (c *convertCall) whereTo() (file, directory string, err error) {
	switch {
	case c.output == "" && c.outputOptions == "":
		return "", "", usagef("rosbagd convert: give --output: a new directory, or a file of output options")
	case c.output != "" && c.outputOptions != "":
		return "", "", usagef("--output, --output-options: only one of them can be given")
	case c.outputOptions != "":
		return c.outputOptions, "", nil
	}
	info, err := os.Stat(c.output)
	switch {
	case err == nil && info.Mode().IsRegular():
		if format, err := formats.Detect(c.output); err == nil {
			return "", "", fmt.Errorf("--output %s: is a bag file already (%s); nothing was changed, choose another name", c.output, format.ID)
		}
		return c.output, "", nil
	case err == nil && info.IsDir():
		return "", "", fmt.Errorf("output folder '%s' already exists; nothing was changed in it, choose another with --output", c.output)
	case err == nil:
		return "", "", usagef("--output %s: %w", c.output, storage.ErrNotRegular)
	case errors.Is(err, os.ErrNotExist) && isYAMLName(c.output):
		return "", "", usagef("--output %s: there is no such file of output options; a directory can not end in .yaml or .yml here", c.output)
	}
	return "", c.output, nil
}

func isYAMLName(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

func runConvert(cmd *cobra.Command, options bag.ConvertOptions) error {
	ctx, stop := signalContext(cmd.Context())
	defer stop()
	bar := newBar(cmd.ErrOrStderr(), "converting")
	options.Progress = func(p bag.Progress) { bar.show(p.Done) }
	report, err := bag.Convert(ctx, options)
	bar.clear()
	if errors.Is(err, context.Canceled) {
		return errors.New("convert: interrupted, nothing was written")
	}
	if err != nil {
		return convertError(err)
	}
	for _, note := range report.Notes {
		printWarning(cmd.ErrOrStderr(), "%s", note)
	}
	for _, text := range report.Lost {
		printWarning(cmd.ErrOrStderr(), "%s", text)
	}
	for _, out := range report.Outputs {
		printConverted(cmd.OutOrStdout(), out)
	}
	if len(report.Lost) > 0 {
		printWarning(cmd.ErrOrStderr(), "what could be read was converted; what is said above may be missing")
		return errDataLost
	}
	return nil
}

// convertError makes wrong usage of errors about what was asked for, as opposed to what happened.
func convertError(err error) error {
	var setting *bag.SettingError
	if errors.As(err, &setting) {
		return &usageError{err}
	}
	return bagError(err)
}

// printConverted tells what is in a new bag.
func printConverted(w io.Writer, out bag.Converted) {
	fmt.Fprintf(w, "%s: %s of %s in %s, %s", storage.Printable(out.Path), count(out.Messages, "message"),
		count(out.Topics, "topic"), count(out.Files, "file"), bag.FormatSize(out.Bytes))
	if out.Copied > 0 {
		fmt.Fprintf(w, " (%s in chunks that were copied as they are)", humanize.Comma(int64(out.Copied)))
	}
	fmt.Fprintln(w)
}
