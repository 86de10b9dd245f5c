//go:build ros

package node

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs/definition"
	"rosbagd/storage"
)

// twin is a type that nobody has, laid out like std_msgs/msg/String so that the helpers of the tests can read it.
var twin = Type{Name: "ghost_msgs/msg/Twin", Definition: storage.Definition{Encoding: "ros2msg", Text: "# words\nstring data\n"}}

// TestTypeThatIsNotInstalled sends serialized messages of a type that no package has, from one node to another.
func TestTypeThatIsNotInstalled(t *testing.T) {
	ctx := deadline(t)
	sender, taker := openNode(t, "sender"), openNode(t, "taker")
	require.False(t, sender.Installed(twin.Name))
	require.True(t, sender.Installed("std_msgs/msg/String"))
	require.NoError(t, sender.Describe(twin))
	publisher, err := sender.CreatePublisher("/ghost", twin.Name, reliable(10))
	require.NoError(t, err)
	_, err = taker.Subscribe("/ghost", twin.Name, reliable(10)) // undescribed
	require.NoError(t, err)
	waitMatched(ctx, t, publisher, 1)
	require.NoError(t, publisher.Publish(stringMessage("boo")))
	require.Equal(t, "boo", takeN(ctx, t, taker, 1)[0].text)

	described, _, err := definition.Describe(twin.Name, twin.Definition)
	require.NoError(t, err)
	require.Equal(t, wantHash(described.Hash()), announcedHash(t, taker, "/ghost"))
	require.NoError(t, publisher.Close())
}

func announcedHash(t *testing.T, n *Node, topic string) string {
	publishers, err := n.Publishers(topic)
	require.NoError(t, err)
	require.Len(t, publishers, 1)
	return publishers[0].TypeHash
}

// wantHash is empty where endpoints announce none.
func wantHash(hash string) string {
	if os.Getenv("ROS_DISTRO") == "humble" {
		return ""
	}
	return hash
}

func TestDescribeSaysWhatIsOfNoUse(t *testing.T) {
	n := openNode(t, "describe")
	for words, typ := range map[string]Type{
		"has the hash": {Name: twin.Name, Hash: "RIHS01_" + twin.Name, Definition: twin.Definition},
		"is not read":  {Name: twin.Name, Definition: storage.Definition{Encoding: "ros2idl", Text: "module x {};"}},
		"lacks":        {Name: twin.Name, Definition: storage.Definition{Encoding: "ros2msg", Text: "Other other\n"}},
	} {
		require.ErrorContains(t, n.Describe(typ), words)
		_, err := n.CreatePublisher("/use", twin.Name, reliable(1))
		require.NoError(t, err, words)
	}
	_, err := n.Subscribe("/use", "../../etc/passwd", reliable(10))
	require.ErrorContains(t, err, "not of the form")
	_, err = n.types.loadTyped(twin.Name) // where a C struct is needed, a made type is none
	require.ErrorIs(t, err, ErrNotInstalled)
}
