//go:build ros

package node

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs/definition"
)

// TestNodesDescribeTheirTypes asks a node of ours for the definition of a type that only it knows.
func TestNodesDescribeTheirTypes(t *testing.T) {
	ctx := deadline(t)
	knowing, asking := openNode(t, "knowing"), openNode(t, "asking")
	if knowing.describer == nil {
		require.Equal(t, "", wantHash("x"), "only Humble lacks the service")
		return
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- knowing.Run(running) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	require.NoError(t, knowing.Describe(twin))
	publisher, err := knowing.CreatePublisher("/known", twin.Name, reliable(1))
	require.NoError(t, err)
	described, _, err := definition.Describe(twin.Name, twin.Definition)
	require.NoError(t, err)

	client := createReady(ctx, t, asking, "/knowing/get_type_description", definition.InquiryType)
	ask := func(hash string) (definition.Description, []definition.Source, error) {
		response, err := client.Call(ctx, definition.EncodeInquiry(twin.Name, hash))
		require.NoError(t, err)
		return definition.DecodeAnswer(response)
	}
	told, sources, err := ask(described.Hash())
	require.NoError(t, err)
	require.Equal(t, described.Type, told.Type)
	require.Empty(t, told.Referenced)
	text, err := definition.FromDescription(told, sources)
	require.NoError(t, err)
	require.Equal(t, twin.Definition, text)

	_, _, err = ask("RIHS01_0000000000000000000000000000000000000000000000000000000000000000")
	require.ErrorContains(t, err, "the node says")
	require.NoError(t, publisher.Close())
}
