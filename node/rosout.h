//go:build ros

// The log of a node on /rosout, and the end of the process's log.
#ifndef ROSBAGD_ROSOUT_H
#define ROSBAGD_ROSOUT_H

#include "dataplane.h"

// Publishes the node's log on /rosout. rclcpp and rclpy do it since rcl itself no longer does.
int rbd_rosout_open(rcl_node_t * node, char * error);
void rbd_rosout_close(rcl_node_t * node);
// Ends logging for the process: what is buffered reaches the log file.
int rbd_logging_end(char * error);

#endif
