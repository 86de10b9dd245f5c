package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"rosbagd/node/param"
)

// TestParametersAreDocumented holds docs/parameters.md equal to the parameters that there are.
func TestParametersAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/parameters.md")
	require.NoError(t, err)
	play, playFlags := parsedPlay(t)
	record, recordFlags := parsedRecord(t)
	for _, table := range []string{parameterTable(t, record.settings(), recordFlags), parameterTable(t, play.settings(), playFlags)} {
		require.True(t, strings.Contains(string(text), "\n\n"+table+"\n"), "put this table into docs/parameters.md:\n%s", table)
	}
}

// parsedRecord is a call of record with these arguments, up to where parameters come in.
func parsedRecord(t require.TestingT, args ...string) (*recordCall, *pflag.FlagSet) {
	call := &recordCall{}
	cmd := &cobra.Command{}
	call.register(cmd, "rosbag2_recorder", nil)
	require.NoError(t, cmd.ParseFlags(args))
	call.polling = time.Duration(call.pollingMillis) * time.Millisecond
	return call, cmd.Flags()
}

func parameterTable(t *testing.T, settings settings, flags *pflag.FlagSet) string {
	store := param.NewStore(nil)
	require.NoError(t, settings.declare(store, flags))
	var table strings.Builder
	table.WriteString("| parameter | type | default | flag | meaning |\n|---|---|---|---|---|\n")
	for _, one := range settings {
		names, flags := one.parameters()
		for _, name := range names {
			value, _ := store.Get(name)
			description, _ := store.Describe(name)
			fmt.Fprintf(&table, "| `%s` | %v | %v | %s | %s |\n", name, value.Type(), value, shownFlags(flags), meaning(description))
		}
	}
	return table.String()
}

func shownFlags(flags []string) string {
	var shown []string
	for _, flag := range flags {
		shown = append(shown, "`--"+flag+"`")
	}
	return strings.Join(shown, " ")
}

func meaning(d param.Description) string {
	text := d.Description
	switch {
	case d.Constraints != "":
		text += "; " + d.Constraints
	case len(d.Words) > 0:
		text += "; " + strings.Join(d.Words, " or ")
	case d.DoubleRange != nil:
		text += "; " + d.DoubleRange.String()
	}
	if d.ReadOnly == "" {
		text += "; **can be changed while the node runs**"
	}
	return text
}
