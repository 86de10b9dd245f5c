// Package readers shows that bags go both ways between this program and the independent Python packages rosbags, mcap and
// mcap-ros2-support: what is written here they read, what they write is read here. Its tests carry the build tag
// `readers` and need Python with these packages, which `make test-readers` brings; ROS 2 is not needed.
package readers
