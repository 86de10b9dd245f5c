//go:build ros

package main

import (
	"rosbagd/node"
	"rosbagd/recorder"
	"rosbagd/storage/qos"
)

// eventProfile is the QoS of events/write_split and events/read_split in rosbag2.
func eventProfile() qos.Profile {
	p := qos.Default()
	p.Depth = 1
	return p
}

// clockProfile is rclcpp's QoS for /clock.
func clockProfile() qos.Profile {
	return qos.Profile{History: qos.KeepLast, Depth: 1, Reliability: qos.BestEffort, Durability: qos.Volatile}
}

// ownProfile is the QoS of a topic that the node publishes itself: what the override file says about it, or the usual
// one. The file names it in full, as it would be without remapping.
func ownProfile(n *node.Node, nodeName, topic string, overrides map[string]qos.Profile, usual qos.Profile) qos.Profile {
	full := recorder.ExpandTopicName(topic, n.Namespace(), nodeName)
	profile, overridden := overrides[full]
	if !overridden {
		return usual
	}
	n.Logger().Info("Overriding QoS profile for topic " + full)
	return profile
}
