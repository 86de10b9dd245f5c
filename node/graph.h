//go:build ros

// The graph: who publishes what, with the type hashes that rclgo does not show, and a wait for changes.
#ifndef ROSBAGD_GRAPH_H
#define ROSBAGD_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <rcl/rcl.h>

#include "dataplane.h"

typedef struct rbd_endpoint {
  char * node_name;      // owned by the endpoint array
  char * node_namespace; // owned by the endpoint array
  char * type;           // owned by the endpoint array
  char hash[80];         // RIHS01_ and 64 hex digits, or empty
  uint8_t gid[RBD_GID_SIZE];
  rmw_qos_profile_t qos;
} rbd_endpoint_t;

// The publishers of a topic. The array belongs to the caller until rbd_endpoints_free.
int rbd_publishers(
  const rcl_node_t * node, const char * topic, rbd_endpoint_t ** endpoints, size_t * count, char * error);
int rbd_subscriptions(
  const rcl_node_t * node, const char * topic, rbd_endpoint_t ** endpoints, size_t * count, char * error);
void rbd_endpoints_free(rbd_endpoint_t * endpoints, size_t count);

typedef struct rbd_graph_wait rbd_graph_wait_t;

// One waiter a node: the graph's guard condition is reset by whoever waits.
int rbd_graph_wait_create(rcl_node_t * node, rcl_context_t * context, rbd_graph_wait_t ** out, char * error);
// changed is 1 when the graph changed, 0 after timeout nanoseconds or a wake-up.
int rbd_graph_wait_for(rbd_graph_wait_t * wait, int64_t timeout, int * changed, char * error);
void rbd_graph_wake(rbd_graph_wait_t * wait);
void rbd_graph_wait_destroy(rbd_graph_wait_t * wait);

#endif
