package bag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

func TestCheckConverter(t *testing.T) {
	topic := storage.Topic{Name: "/a", SerializationFormat: "cdr"}
	require.NoError(t, bag.CheckConverter(topic, "cdr"))
	require.ErrorIs(t, bag.CheckConverter(topic, "json"), storage.ErrUnsupported)
	topic.SerializationFormat = ""
	require.NoError(t, bag.CheckConverter(topic, "cdr"))
	require.ErrorContains(t, bag.CheckConverter(topic, "json"), "Could not find converter for format json: topic /a")
	topic.SerializationFormat = "json"
	require.NoError(t, bag.CheckConverter(topic, "json"), "nothing is to be converted")
	require.ErrorContains(t, bag.CheckConverter(topic, "cdr"), "Could not find converter for format cdr")
}
