// Package test drives the built program from outside: as a process, over ROS, against rclpy, plain rcl and independent
// readers of the files it writes.
//
// Every test has a world of its own: a ROS domain nobody else uses, restricted to this machine, and a directory that
// goes away. Each process of a world runs in its own process group; when the test ends, by whatever way, the groups are
// killed, nothing of them may be left, and the shared memory that killed processes left behind is removed.
//
// The tests need the build tag ros, the program (ROSBAGD_BIN, by default ../bin/rosbagd) and a Python that has rclpy
// and the readers (PYTHON, by default the one of ../.ros/$ROS_DISTRO). What is missing fails, it is never skipped.
// ROSBAGD_LOAD_SCALE multiplies the length of the load tests, SOAK is how long the soak test lasts.
package test
