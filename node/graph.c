//go:build ros

#include "graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>
#include <rcl/graph.h>
#include <rcl/wait.h>

#include "distro.h"

typedef rcl_ret_t (*info_function)(
  const rcl_node_t *, rcutils_allocator_t *, const char *, bool, rcl_topic_endpoint_info_array_t *);

static bool copy_endpoint(rbd_endpoint_t * to, const rmw_topic_endpoint_info_t * from)
{
  to->node_name = strdup(from->node_name ? from->node_name : "");
  to->node_namespace = strdup(from->node_namespace ? from->node_namespace : "");
  to->type = strdup(from->topic_type ? from->topic_type : "");
  memcpy(to->gid, from->endpoint_gid, RBD_GID_SIZE);
  to->qos = from->qos_profile;
  rbd_endpoint_hash(from, to->hash, sizeof to->hash);
  return to->node_name && to->node_namespace && to->type;
}

static int endpoints_of(
  const rcl_node_t * node, const char * topic, info_function get, const char * what, rbd_endpoint_t ** out,
  size_t * count, char * error)
{
  *out = NULL;
  *count = 0;
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_topic_endpoint_info_array_t infos = rcl_get_zero_initialized_topic_endpoint_info_array();
  if (get(node, &allocator, topic, false, &infos) != RCL_RET_OK) {
    rbd_take_error(what, error);
    return 1;
  }
  int failed = 0;
  if (infos.size > 0) {
    rbd_endpoint_t * endpoints = calloc(infos.size, sizeof *endpoints);
    bool copied = endpoints != NULL;
    for (size_t i = 0; copied && i < infos.size; i++) {
      copied = copy_endpoint(&endpoints[i], &infos.info_array[i]);
    }
    if (copied) {
      *out = endpoints;
      *count = infos.size;
    } else {
      snprintf(error, RBD_ERROR_SIZE, "out of memory");
      rbd_endpoints_free(endpoints, endpoints ? infos.size : 0);
      failed = 1;
    }
  }
  if (rcl_topic_endpoint_info_array_fini(&infos, &allocator) != RCL_RET_OK) {
    rcl_reset_error();
  }
  return failed;
}

int rbd_publishers(
  const rcl_node_t * node, const char * topic, rbd_endpoint_t ** endpoints, size_t * count, char * error)
{
  return endpoints_of(
    node, topic, rcl_get_publishers_info_by_topic, "get publishers of topic", endpoints, count, error);
}

int rbd_subscriptions(
  const rcl_node_t * node, const char * topic, rbd_endpoint_t ** endpoints, size_t * count, char * error)
{
  return endpoints_of(
    node, topic, rcl_get_subscriptions_info_by_topic, "get subscriptions of topic", endpoints, count, error);
}

void rbd_endpoints_free(rbd_endpoint_t * endpoints, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    free(endpoints[i].node_name);
    free(endpoints[i].node_namespace);
    free(endpoints[i].type);
  }
  free(endpoints);
}

struct rbd_graph_wait {
  const rcl_guard_condition_t * graph; // borrowed from the node
  rcl_guard_condition_t wake;
  rcl_wait_set_t set;
};

int rbd_graph_wait_create(rcl_node_t * node, rcl_context_t * context, rbd_graph_wait_t ** out, char * error)
{
  rbd_graph_wait_t * wait = calloc(1, sizeof *wait);
  if (!wait) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  wait->graph = rcl_node_get_graph_guard_condition(node);
  wait->wake = rcl_get_zero_initialized_guard_condition();
  wait->set = rcl_get_zero_initialized_wait_set();
  if (!wait->graph) {
    rbd_take_error("get guard condition of the graph", error);
    free(wait);
    return 1;
  }
  if (rcl_guard_condition_init(&wait->wake, context, rcl_guard_condition_get_default_options()) != RCL_RET_OK) {
    rbd_take_error("create guard condition", error);
    free(wait);
    return 1;
  }
  if (rcl_wait_set_init(&wait->set, 0, 2, 0, 0, 0, 0, context, rcl_get_default_allocator()) != RCL_RET_OK) {
    rbd_take_error("create wait set", error);
    if (rcl_guard_condition_fini(&wait->wake) != RCL_RET_OK) {
      rcl_reset_error();
    }
    free(wait);
    return 1;
  }
  *out = wait;
  return 0;
}

int rbd_graph_wait_for(rbd_graph_wait_t * wait, int64_t timeout, int * changed, char * error)
{
  *changed = 0;
  if (
    rcl_wait_set_clear(&wait->set) != RCL_RET_OK ||
    rcl_wait_set_add_guard_condition(&wait->set, wait->graph, NULL) != RCL_RET_OK ||
    rcl_wait_set_add_guard_condition(&wait->set, &wait->wake, NULL) != RCL_RET_OK) {
    rbd_take_error("fill wait set", error);
    return 1;
  }
  rcl_ret_t result = rcl_wait(&wait->set, timeout);
  if (result == RCL_RET_TIMEOUT) {
    rcl_reset_error();
    return 0;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("wait for a graph change", error);
    return 1;
  }
  *changed = wait->set.guard_conditions[0] != NULL;
  return 0;
}

void rbd_graph_wake(rbd_graph_wait_t * wait)
{
  if (rcl_trigger_guard_condition(&wait->wake) != RCL_RET_OK) {
    rcl_reset_error();
  }
}

void rbd_graph_wait_destroy(rbd_graph_wait_t * wait)
{
  if (rcl_wait_set_fini(&wait->set) != RCL_RET_OK) {
    rcl_reset_error();
  }
  if (rcl_guard_condition_fini(&wait->wake) != RCL_RET_OK) {
    rcl_reset_error();
  }
  free(wait);
}
