package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"rosbagd/bag"
	"rosbagd/storage"
)

func newVerifyCommand() *cobra.Command {
	var (
		options bag.VerifyOptions
		asJSON  bool
		quiet   bool
	)
	cmd := &cobra.Command{
		Use:   "verify BAG",
		Short: "Check all of a bag (a directory or a single file)",
		Long: `Reads all of a bag and tells what is wrong, with the file and the byte where it stands: structure, checksums, indexes
and statistics of each file, definitions and hashes of types, offered QoS, encapsulation of payloads, compression, and
what metadata.yaml says otherwise than the files. Nothing is written to the bag.

Each line begins with how bad it is: "notice" is allowed and may surprise, "fault" breaks a rule of the format and costs
no message, "damage" costs messages, or may have. Ends with 0 if there are notices only, and with 1 for the rest.`,
		Args: oneBag,
		RunE: func(cmd *cobra.Command, args []string) error {
			return verify(cmd, args[0], options, asJSON, quiet)
		},
	}
	cmd.Flags().StringVarP(&options.StorageID, "storage", "s", "", "storage of files that do not tell by their content")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document (docs/json.md)")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "leave notices out")
	return cmd
}

// severityWord is how findings are printed.
func severityWord(s storage.Severity) string {
	switch s {
	case storage.Notice:
		return "notice"
	case storage.Fault:
		return "fault"
	default:
		return "damage"
	}
}

func verify(cmd *cobra.Command, path string, options bag.VerifyOptions, asJSON, quiet bool) error {
	out := cmd.OutOrStdout()
	bar := newBar(cmd.ErrOrStderr(), "verifying")
	options.Unpack.Progress = showUnpacking(cmd.ErrOrStderr())
	options.Progress = func(done, total int64) { bar.show(float64(done) / float64(max(total, 1))) }
	document := verifyJSON{Bag: path, Findings: []findingJSON{}}
	faultyFiles := false
	result, err := bag.Verify(path, options, func(f storage.Finding) {
		faultyFiles = faultyFiles || f.Severity == storage.Fault && !aboutMetadata(f)
		if quiet && f.Severity == storage.Notice {
			return
		}
		if asJSON {
			document.Findings = append(document.Findings, newFindingJSON(f))
			return
		}
		bar.clear()
		fmt.Fprintf(out, "%-7s %s\n", severityWord(f.Severity), storage.Printable(f.String()))
	})
	bar.clear()
	if err != nil {
		return bagError(err)
	}
	if asJSON {
		err = document.write(out, result)
	} else {
		_, err = fmt.Fprintf(out, "%s: %s, %s: %s, %s, %s\n", storage.Printable(path), count(result.Files, "file"), count(result.Messages, "message"),
			count(result.Damages, "damage"), count(result.Faults, "fault"), count(result.Notices, "notice"))
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if !result.Sound() {
		return fmt.Errorf("%s is not sound: %s, %s (%s)",
			path, count(result.Damages, "damage"), count(result.Faults, "fault"), remedy(result, faultyFiles))
	}
	return nil
}

// aboutMetadata tells what metadata.yaml has wrong from what a file has wrong.
func aboutMetadata(f storage.Finding) bool {
	return filepath.Base(f.Path) == bag.MetadataName || strings.Contains(f.Text, bag.MetadataName)
}

// remedy says what can be done about a bag that is not sound.
func remedy(result bag.Verified, faultyFiles bool) string {
	switch {
	case result.Damages > 0:
		return "'rosbagd reindex --repair' keeps what can be read of damaged files, and makes metadata.yaml anew"
	case faultyFiles:
		return "'rosbagd convert' writes its files anew"
	default:
		return "'rosbagd reindex' makes metadata.yaml anew"
	}
}

// verifyJSON is described by docs/json.md.
type verifyJSON struct {
	Bag      string        `json:"bag"`
	Sound    bool          `json:"sound"`
	Files    int           `json:"files"`
	Messages uint64        `json:"message_count"`
	Damages  int           `json:"damages"`
	Faults   int           `json:"faults"`
	Notices  int           `json:"notices"`
	Findings []findingJSON `json:"findings"`
}

type findingJSON struct {
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Offset   *int64 `json:"offset"`
	Text     string `json:"text"`
}

func newFindingJSON(f storage.Finding) findingJSON {
	out := findingJSON{Severity: severityWord(f.Severity), Path: f.Path, Text: f.Text}
	if f.Offset >= 0 {
		out.Offset = &f.Offset
	}
	return out
}

func (d *verifyJSON) write(out io.Writer, result bag.Verified) error {
	d.Sound, d.Files, d.Messages = result.Sound(), result.Files, result.Messages
	d.Damages, d.Faults, d.Notices = result.Damages, result.Faults, result.Notices
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(d)
	if err == nil {
		_, err = out.Write(storage.PrintableJSON(text.Bytes()))
	}
	return err
}
