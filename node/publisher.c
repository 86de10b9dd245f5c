//go:build ros

#include "dataplane.h"

#include <stdio.h>
#include <stdlib.h>

#include <rcl/error_handling.h>
#include <rcl/publisher.h>

struct rbd_publisher {
  rcl_publisher_t handle;
  rcl_node_t * node; // borrowed
};

int rbd_publisher_create(
  rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, rbd_publisher_t ** out, char * error)
{
  rbd_publisher_t * publisher = calloc(1, sizeof *publisher);
  if (!publisher) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  publisher->handle = rcl_get_zero_initialized_publisher();
  publisher->node = node;
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  options.qos = *qos;
  if (rcl_publisher_init(&publisher->handle, node, type_support, topic, &options) != RCL_RET_OK) {
    rbd_take_error("create publisher", error);
    free(publisher);
    return 1;
  }
  *out = publisher;
  return 0;
}

int rbd_publish(rbd_publisher_t * publisher, const uint8_t * data, size_t size, char * error)
{
  // The middleware reads the buffer and never writes or keeps it, hence the cast.
  rcl_serialized_message_t message = {
    .buffer = (uint8_t *)data,
    .buffer_length = size,
    .buffer_capacity = size,
    .allocator = rcl_get_default_allocator()};
  if (rcl_publish_serialized_message(&publisher->handle, &message, NULL) != RCL_RET_OK) {
    rbd_take_error("publish", error);
    return 1;
  }
  return 0;
}

int rbd_publisher_subscriptions(const rbd_publisher_t * publisher, size_t * count, char * error)
{
  if (rcl_publisher_get_subscription_count(&publisher->handle, count) != RCL_RET_OK) {
    rbd_take_error("count subscriptions", error);
    return 1;
  }
  return 0;
}

int rbd_publisher_wait_acked(rbd_publisher_t * publisher, int64_t timeout, int * acked, char * error)
{
  rcl_ret_t result = rcl_publisher_wait_for_all_acked(&publisher->handle, timeout);
  *acked = result == RCL_RET_OK;
  if (result == RCL_RET_TIMEOUT) {
    rcl_reset_error();
    return 0;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("wait for acknowledgements", error);
    return 1;
  }
  return 0;
}

int rbd_publisher_destroy(rbd_publisher_t * publisher, char * error)
{
  int failed = rcl_publisher_fini(&publisher->handle, publisher->node) != RCL_RET_OK;
  if (failed) {
    rbd_take_error("destroy publisher", error);
  }
  free(publisher);
  return failed;
}
