//go:build ros

// Clients of services whose types are found at run time. Requests and responses are structs here, see typed.h.
#ifndef ROSBAGD_CLIENT_H
#define ROSBAGD_CLIENT_H

#include <stdint.h>

#include <rosidl_runtime_c/service_type_support_struct.h>

#include "typed.h"

typedef struct rbd_client rbd_client_t;

// event is an eventfd, borrowed for the life of the client: it is signalled when responses are there to take. The
// client belongs to the caller. Functions on one client must not run at the same time.
int rbd_client_create(
  rcl_node_t * node, const rosidl_service_type_support_t * type_support, const char * service,
  const rmw_qos_profile_t * qos, int event, rbd_client_t ** client, char * error);
// ready is 1 when a server is there.
int rbd_client_ready(const rbd_client_t * client, int * ready, char * error);
int rbd_client_send(rbd_client_t * client, const void * request, int64_t * sequence, char * error);
// Takes one response into the given message, if there is one. taken says whether there was.
int rbd_client_take(rbd_client_t * client, void * response, int64_t * sequence, int * taken, char * error);
int rbd_client_destroy(rbd_client_t * client, char * error);

#endif
