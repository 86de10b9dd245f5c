// Package qos is the quality of service of a topic as bags and override files keep it, in plain Go: the same words
// and numbers as the ROS middleware interface (rmw), without ROS.
package qos
