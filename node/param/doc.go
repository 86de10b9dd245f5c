// Package param holds the parameters of a node the way rclcpp does: typed, declared with a default and a descriptor,
// started from overrides of the command line and of parameter files, and changed together or not at all. It knows no
// ROS; package node serves a Store to the graph.
//
// Three things differ from rclcpp. NaN is in no range. A range is asked of each element of an array. An empty list in a
// file is an empty array of the declared type, where rclcpp ends the program.
//
// Life cycle: NewStore, Declare all, Bind those that stand for something that changes by itself, then serve.
package param
