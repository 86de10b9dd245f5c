//go:build ros

#include "describer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rcl/error_handling.h>
#include <rcl/node.h>
#include <rcl/service.h>

#include "distro.h"
#include "eventfd.h"

struct rbd_describer {
  rcl_service_t handle;
  rcl_node_t * node; // borrowed
  rbd_type_t request, response;
  int event; // borrowed
};

#if RBD_TYPES_ARE_DESCRIBED
static rcl_ret_t init_service(rcl_service_t * service, const rcl_node_t * node)
{
  return rcl_node_type_description_service_init(service, node);
}

int rbd_describer_exists(void)
{
  return 1;
}

// Takes a request and answers it; taken is false when there was none.
static int answer_one(rbd_describer_t * d, bool * taken, char * error)
{
  *taken = false;
  void * request = rbd_typed_new(&d->request);
  void * response = calloc(1, d->response.members->size_of_); // rcl initializes it
  if (!request || !response) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    rbd_typed_free(&d->request, request);
    free(response);
    return 1;
  }
  int failed = 0;
  rmw_request_id_t id;
  rcl_ret_t result = rcl_take_request(&d->handle, &id, request);
  if (result == RCL_RET_OK) {
    *taken = true;
    rcl_node_type_description_service_handle_request(d->node, &id, request, response);
    rcl_reset_error(); // what went wrong is in the response
    if (rcl_send_response(&d->handle, &id, response) != RCL_RET_OK) {
      rcl_reset_error(); // the asking node is gone: nobody else would want to know
    }
  } else if (result == RCL_RET_SERVICE_TAKE_FAILED) {
    rcl_reset_error();
  } else {
    rbd_take_error("take request", error);
    failed = 1;
  }
  rbd_typed_free(&d->request, request);
  rbd_typed_free(&d->response, response);
  return failed;
}
#else
int rbd_describer_exists(void)
{
  return 0;
}

static rcl_ret_t init_service(rcl_service_t * service, const rcl_node_t * node)
{
  (void)service;
  (void)node;
  return RCL_RET_UNSUPPORTED;
}

static int answer_one(rbd_describer_t * d, bool * taken, char * error)
{
  (void)d;
  (void)error;
  *taken = false;
  return 0;
}
#endif

// Runs on a thread of the middleware, which may hold locks of its own: nothing but an eventfd here.
static void on_new_request(const void * user_data, size_t count)
{
  (void)count;
  rbd_eventfd_signal(((const rbd_describer_t *)user_data)->event);
}

int rbd_describer_create(
  rcl_node_t * node, const rbd_type_t * request, const rbd_type_t * response, int event, rbd_describer_t ** out,
  char * error)
{
  rbd_describer_t * d = calloc(1, sizeof *d);
  if (!d) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  d->handle = rcl_get_zero_initialized_service();
  d->node = node;
  d->request = *request;
  d->response = *response;
  d->event = event;
  if (init_service(&d->handle, node) != RCL_RET_OK) {
    rbd_take_error("create service", error);
    free(d);
    return 1;
  }
  if (rcl_service_set_on_new_request_callback(&d->handle, on_new_request, d) != RCL_RET_OK) {
    rbd_take_error("watch service", error);
    rbd_describer_destroy(d);
    return 1;
  }
  *out = d;
  return 0;
}

int rbd_describer_answer(rbd_describer_t * d, char * error)
{
  bool taken = true;
  while (taken) {
    if (answer_one(d, &taken, error) != 0) {
      return 1;
    }
  }
  return 0;
}

void rbd_describer_destroy(rbd_describer_t * d)
{
  // From here on the middleware touches neither d nor its descriptor.
  if (rcl_service_set_on_new_request_callback(&d->handle, NULL, NULL) != RCL_RET_OK) {
    rcl_reset_error();
  }
  if (rcl_service_fini(&d->handle, d->node) != RCL_RET_OK) {
    rcl_reset_error();
  }
  free(d);
}
