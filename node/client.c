//go:build ros

#include "client.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rcl/client.h>
#include <rcl/error_handling.h>
#include <rcl/graph.h>

#include "eventfd.h"

struct rbd_client {
  rcl_client_t handle;
  rcl_node_t * node; // borrowed
  int event;         // borrowed
};

// Runs on a thread of the middleware, which may hold locks of its own: nothing but an eventfd here.
static void on_new_response(const void * user_data, size_t count)
{
  (void)count;
  rbd_eventfd_signal(((const rbd_client_t *)user_data)->event);
}

int rbd_client_create(
  rcl_node_t * node, const rosidl_service_type_support_t * type_support, const char * service,
  const rmw_qos_profile_t * qos, int event, rbd_client_t ** out, char * error)
{
  rbd_client_t * client = calloc(1, sizeof *client);
  if (!client) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  client->handle = rcl_get_zero_initialized_client();
  client->node = node;
  client->event = event;
  rcl_client_options_t options = rcl_client_get_default_options();
  options.qos = *qos;
  if (rcl_client_init(&client->handle, node, type_support, service, &options) != RCL_RET_OK) {
    rbd_take_error("create client", error);
    free(client);
    return 1;
  }
  if (rcl_client_set_on_new_response_callback(&client->handle, on_new_response, client) != RCL_RET_OK) {
    rbd_take_error("watch client", error);
    char ignored[RBD_ERROR_SIZE];
    rbd_client_destroy(client, ignored);
    return 1;
  }
  *out = client;
  return 0;
}

int rbd_client_ready(const rbd_client_t * client, int * ready, char * error)
{
  bool available = false;
  if (rcl_service_server_is_available(client->node, &client->handle, &available) != RCL_RET_OK) {
    rbd_take_error("look for server", error);
    return 1;
  }
  *ready = available;
  return 0;
}

int rbd_client_send(rbd_client_t * client, const void * request, int64_t * sequence, char * error)
{
  if (rcl_send_request(&client->handle, request, sequence) != RCL_RET_OK) {
    rbd_take_error("send request", error);
    return 1;
  }
  return 0;
}

int rbd_client_take(rbd_client_t * client, void * response, int64_t * sequence, int * taken, char * error)
{
  rmw_request_id_t id;
  rcl_ret_t result = rcl_take_response(&client->handle, &id, response);
  *taken = result == RCL_RET_OK;
  if (result == RCL_RET_CLIENT_TAKE_FAILED) {
    rcl_reset_error();
    return 0;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("take response", error);
    return 1;
  }
  *sequence = id.sequence_number;
  return 0;
}

int rbd_client_destroy(rbd_client_t * client, char * error)
{
  // Once this has returned, the middleware is not inside the callback any more.
  if (rcl_client_set_on_new_response_callback(&client->handle, NULL, NULL) != RCL_RET_OK) {
    rcl_reset_error();
  }
  int failed = rcl_client_fini(&client->handle, client->node) != RCL_RET_OK;
  if (failed) {
    rbd_take_error("destroy client", error);
  }
  free(client);
  return failed;
}
