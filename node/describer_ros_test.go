//go:build ros

package node

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rosbagd/msgs/definition"
	"rosbagd/node/param"
	"rosbagd/storage"
)

// runsDescriber runs n until the test ends and says whether it answers what its types are made of.
func runsDescriber(ctx context.Context, t *testing.T, n *Node) bool {
	t.Helper()
	if n.describer == nil {
		require.Equal(t, "", wantHash("x"), "only Humble lacks the service")
		return false
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- n.Run(running) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return true
}

// TestNodesDescribeTheirTypes asks a node of ours for the definition of a type that only it knows.
func TestNodesDescribeTheirTypes(t *testing.T) {
	ctx := deadline(t)
	knowing, asking := openNode(t, "knowing"), openNode(t, "asking")
	if !runsDescriber(ctx, t, knowing) {
		return
	}
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

// TestManyQuestions to one node at a time are all answered, also the one about a type of which the node has only the name.
func TestManyQuestions(t *testing.T) {
	ctx := deadline(t)
	knowing, asking := openNode(t, "knowing"), openNode(t, "asking")
	if !runsDescriber(ctx, t, knowing) {
		return
	}
	const count = 100
	var questions errgroup.Group
	for i := range count {
		name := fmt.Sprint("nowhere/msg/T", i)
		d := storage.Definition{Encoding: "ros2msg", Text: fmt.Sprintf("int8 f%d\n", i)}
		described, _, err := definition.Describe(name, d)
		require.NoError(t, err)
		require.NoError(t, knowing.Describe(Type{Name: name, Hash: described.Hash(), Definition: d}))
		_, err = knowing.CreatePublisher(fmt.Sprint("/many/t", i), name, reliable(1))
		require.NoError(t, err)
		questions.Go(func() error {
			told, err := asking.Inquire(ctx, "/knowing", name, described.Hash())
			if err == nil && told != d {
				err = fmt.Errorf("%s: %q", name, told.Text)
			}
			return err
		})
	}
	require.NoError(t, questions.Wait())
	require.Empty(t, asking.inquirers.open)

	bare := Type{Name: "nowhere/msg/Bare", Hash: wantHash("RIHS01_" + strings.Repeat("ab", 32))}
	require.NoError(t, knowing.Describe(bare))
	_, err := knowing.CreatePublisher("/bare", bare.Name, reliable(1))
	require.NoError(t, err)
	_, err = asking.Inquire(ctx, "/knowing", bare.Name, bare.Hash)
	require.ErrorContains(t, err, "it does not know what the type is made of")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = asking.Inquire(gone, "/nobody", bare.Name, bare.Hash)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, asking.inquirers.open)
}

// TestNodesNeedNotDescribe leaves the service out where the parameter says so.
func TestNodesNeedNotDescribe(t *testing.T) {
	knowing := openNode(t, "knowing")
	overrides, err := ParameterOverrides(Options{Name: "silent", ROSArgs: []string{"-p", "start_type_description_service:=false"}})
	require.NoError(t, err)
	store := param.NewStore(overrides)
	silent, err := Open(Options{Name: "silent", Parameters: store})
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()
	require.Nil(t, silent.describer)
	if knowing.describer != nil {
		require.Empty(t, store.Unused())
		value, ok := store.Get("start_type_description_service")
		require.True(t, ok)
		require.Equal(t, param.Of(false), value)
	}

	wrong := param.NewStore(param.Overrides{"start_type_description_service": {Value: param.Of("x"), Source: "-p"}})
	_, err = Open(Options{Name: "wrong", Parameters: wrong})
	if knowing.describer != nil {
		var argument *ArgumentError
		require.ErrorAs(t, err, &argument)
	}
}
