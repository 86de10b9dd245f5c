// lifecycle: creates, uses and destroys everything of node/*.c some times over, for the leak checker, which Go's own
// memory keeps away from the program itself. `make test-c` compiles it together with them and runs it.
//
// Prints one line and returns 0 when every call did what it should; the leak checker has its say after that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rcl/error_handling.h>
#include <rcl/logging.h>
#include <rcl/rcl.h>

#include "blocks.h"
#include "client.h"
#include "dataplane.h"
#include "describer.h"
#include "graph.h"
#include "opaque.h"
#include "parameters.h"
#include "rosout.h"
#include "serviceevent.h"
#include "typed.h"
#include "typesupport.h"

#define SECOND 1000000000LL
#define ROUNDS 3
#define MESSAGES 50

static char error[RBD_ERROR_SIZE];

static void fail(const char * what, int line)
{
  fprintf(stderr, "lifecycle.c:%d: %s: %s\n", line, what, rcl_error_is_set() ? rcl_get_error_string().str : error);
  exit(1);
}

#define REQUIRE(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

// Each round treats the middleware in another way.
static const rbd_plane_options_t plane_options[ROUNDS] = {{0}, {.take_on_wake = 1}, {.never_called = 1}};

static const rmw_qos_profile_t qos = {
  .history = RMW_QOS_POLICY_HISTORY_KEEP_LAST,
  .depth = MESSAGES,
  .reliability = RMW_QOS_POLICY_RELIABILITY_RELIABLE,
  .durability = RMW_QOS_POLICY_DURABILITY_VOLATILE};

typedef struct world {
  rcl_context_t context;
  rcl_node_t node;
  rbd_graph_wait_t * graph;
} world_t;

static void open_world(world_t * w)
{
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  REQUIRE(rcl_init_options_init(&options, rcl_get_default_allocator()) == RCL_RET_OK);
  w->context = rcl_get_zero_initialized_context();
  REQUIRE(rcl_init(0, NULL, &options, &w->context) == RCL_RET_OK);
  REQUIRE(rcl_init_options_fini(&options) == RCL_RET_OK);
  rcl_allocator_t allocator = rcl_get_default_allocator();
  REQUIRE(rcl_logging_configure(&w->context.global_arguments, &allocator) == RCL_RET_OK);
  rcl_node_options_t node_options = rcl_node_get_default_options();
  w->node = rcl_get_zero_initialized_node();
  REQUIRE(rcl_node_init(&w->node, "lifecycle", "/c", &w->context, &node_options) == RCL_RET_OK);
  REQUIRE(rcl_node_options_fini(&node_options) == RCL_RET_OK);
  REQUIRE(rbd_rosout_open(&w->node, error) == 0);
  REQUIRE(rbd_graph_wait_create(&w->node, &w->context, &w->graph, error) == 0);
}

static void close_world(world_t * w)
{
  rbd_graph_wait_destroy(w->graph);
  rbd_rosout_close(&w->node);
  REQUIRE(rcl_node_fini(&w->node) == RCL_RET_OK);
  REQUIRE(rcl_shutdown(&w->context) == RCL_RET_OK);
  REQUIRE(rcl_context_fini(&w->context) == RCL_RET_OK);
  REQUIRE(rbd_logging_end(error) == 0);
}

static void wait_matched(world_t * w, const rbd_publisher_t * publisher)
{
  size_t count = 0;
  while (count == 0) {
    int changed;
    REQUIRE(rbd_graph_wait_for(w->graph, SECOND / 50, &changed, error) == 0);
    REQUIRE(rbd_publisher_subscriptions(publisher, &count, error) == 0);
  }
}

// Messages of growing size go through and come back in batches; the last batch outlives its plane.
static void use_plane(
  world_t * w, const rosidl_message_type_support_t * support, const char * topic, const rbd_plane_options_t * options)
{
  rbd_plane_t * plane;
  rbd_subscription_t *first, *second;
  rbd_publisher_t * publisher;
  rbd_watched_t watched;
  REQUIRE(rbd_plane_create(options, &plane, error) == 0);
  REQUIRE(rbd_subscribe(plane, &w->node, support, "not a topic", &qos, 1, &first, &watched, error) != 0);
  REQUIRE(rbd_publisher_create(&w->node, support, "not a topic", &qos, &publisher, error) != 0);
  REQUIRE(rbd_subscribe(plane, &w->node, support, topic, &qos, 1, &first, &watched, error) == 0);
  REQUIRE(rbd_subscribe(plane, &w->node, support, topic, &qos, 2, &second, &watched, error) == 0);
  REQUIRE(rbd_publisher_create(&w->node, support, topic, &qos, &publisher, error) == 0);
  wait_matched(w, publisher);
  REQUIRE(rbd_unsubscribe(plane, second, error) == 0);

  size_t biggest = 4 + 4 + MESSAGES * 3000;
  uint8_t * data = calloc(1, biggest);
  REQUIRE(data);
  size_t taken = 0;
  rbd_batch_t batch;
  for (size_t i = 0; i < MESSAGES; i++) {
    uint32_t length = (uint32_t)(1 + i * 3000); // of a string, with its zero
    memcpy(data, (uint8_t[]){0, 1, 0, 0}, 4);
    memcpy(data + 4, &length, sizeof length);
    REQUIRE(rbd_publish(publisher, data, 8 + length, error) == 0);
    if (i % 10 == 9) {
      while (taken <= i) {
        REQUIRE(rbd_take(plane, &batch, error) == 0);
        for (size_t m = 0; m < batch.count; m++) {
          taken += batch.messages[m].subscription == 1;
        }
        rbd_release(batch.blocks);
      }
    }
  }
  int acked;
  REQUIRE(rbd_publisher_wait_acked(publisher, SECOND, &acked, error) == 0);
  rbd_wake(plane);
  REQUIRE(rbd_take(plane, &batch, error) == 0);

  rbd_endpoint_t * endpoints;
  size_t count;
  REQUIRE(rbd_publishers(&w->node, topic, &endpoints, &count, error) == 0 && count == 1);
  rbd_endpoints_free(endpoints, count);
  REQUIRE(rbd_subscriptions(&w->node, topic, &endpoints, &count, error) == 0 && count >= 1);
  rbd_endpoints_free(endpoints, count);

  REQUIRE(rbd_publish(publisher, data, biggest - 3000, error) == 0); // stays in the middleware
  free(data);
  REQUIRE(rbd_publisher_destroy(publisher, error) == 0);
  rbd_plane_destroy(plane); // with one subscription
  rbd_release(batch.blocks);
}

static void use_type(const rosidl_message_type_support_t * support)
{
  rbd_type_t type;
  REQUIRE(rbd_type_of(support, &type, error) == 0);
  const uint8_t text[] = {0, 1, 0, 0, 4, 0, 0, 0, 'a', 'b', 'c', 0};
  void * message;
  REQUIRE(rbd_typed_read(&type, text, sizeof text, &message, error) == 0);
  rbd_bytes_t bytes;
  REQUIRE(rbd_typed_write(&type, message, &bytes, error) == 0);
  REQUIRE(bytes.size == sizeof text && memcmp(bytes.data, text, sizeof text) == 0);
  rbd_bytes_free(&bytes);
  rbd_typed_free(&type, message);
  REQUIRE(rbd_typed_read(&type, text, sizeof text - 2, &message, error) != 0);
}

static rbd_opaque_t * make_opaque(void)
{
  rbd_opaque_t * type;
  const char * hash = "RIHS01_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  REQUIRE(rbd_opaque_create("ghost_msgs::msg", "Ghost", "ghost_msgs/msg/Ghost", hash, &type, error) == 0);
  REQUIRE(rbd_opaque_describe(type, 1, 1, error) == 0);
  REQUIRE(rbd_opaque_type(type, 0, "ghost_msgs/msg/Ghost", 1, error) == 0);
  REQUIRE(rbd_opaque_field(type, 0, 0, "text", 17, 0, 0, "", "boo", error) == 0);
  REQUIRE(rbd_opaque_source(type, 0, "ghost_msgs/msg/Ghost", "msg", "string text boo\n", error) == 0);
  return type;
}

static void use_client(world_t * w, const rosidl_service_type_support_t * support)
{
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  REQUIRE(event >= 0);
  rmw_qos_profile_t services = qos;
  rbd_client_t * client;
  REQUIRE(rbd_client_create(&w->node, support, "not a service", &services, event, &client, error) != 0);
  REQUIRE(rbd_client_create(&w->node, support, "/c/empty", &services, event, &client, error) == 0);
  int ready = 1;
  REQUIRE(rbd_client_ready(client, &ready, error) == 0 && !ready);
  REQUIRE(rbd_client_destroy(client, error) == 0);
  REQUIRE(close(event) == 0);
}

static const rosidl_message_type_support_t * describer_part(const char * symbol)
{
  const rosidl_message_type_support_t * support;
  REQUIRE(rbd_typesupport("libtype_description_interfaces__rosidl_typesupport_c.so", symbol, &support, error) == 0);
  return support;
}

// The node asks itself for a type that it does not know, and gets an answer.
static void use_describer(world_t * w)
{
  rbd_type_t request, response;
  REQUIRE(rbd_type_of(
            describer_part("rosidl_typesupport_c__get_message_type_support_handle__type_description_interfaces__srv__"
                           "GetTypeDescription_Request"),
            &request, error) == 0);
  REQUIRE(rbd_type_of(
            describer_part("rosidl_typesupport_c__get_message_type_support_handle__type_description_interfaces__srv__"
                           "GetTypeDescription_Response"),
            &response, error) == 0);
  const rosidl_service_type_support_t * service;
  REQUIRE(rbd_service_typesupport(
            "libtype_description_interfaces__rosidl_typesupport_c.so",
            "rosidl_typesupport_c__get_service_type_support_handle__type_description_interfaces__srv__GetTypeDescription",
            &service, error) == 0);
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  REQUIRE(event >= 0);
  rbd_describer_t * describer;
  REQUIRE(rbd_describer_create(&w->node, &request, &response, event, &describer, error) == 0);
  rbd_client_t * client;
  rmw_qos_profile_t services = qos;
  REQUIRE(rbd_client_create(&w->node, service, "/c/lifecycle/get_type_description", &services, event, &client, error) == 0);
  int ready = 0, changed, taken = 0;
  while (!ready) {
    REQUIRE(rbd_graph_wait_for(w->graph, SECOND / 50, &changed, error) == 0);
    REQUIRE(rbd_client_ready(client, &ready, error) == 0);
  }
  void * question = rbd_typed_new(&request);
  void * answer = rbd_typed_new(&response);
  int64_t sequence;
  REQUIRE(rbd_client_send(client, question, &sequence, error) == 0);
  while (!taken) {
    REQUIRE(rbd_describer_answer(describer, error) == 0);
    REQUIRE(rbd_client_take(client, answer, &sequence, &taken, error) == 0);
  }
  rbd_typed_free(&request, question);
  rbd_typed_free(&response, answer);
  REQUIRE(rbd_client_destroy(client, error) == 0);
  rbd_describer_destroy(describer);
  REQUIRE(close(event) == 0);
}

// An event of a service without fields, with its request.
static void use_service_event(void)
{
  const rosidl_message_type_support_t * support;
  REQUIRE(rbd_typesupport(
            "libstd_srvs__rosidl_typesupport_c.so",
            "rosidl_typesupport_c__get_message_type_support_handle__std_srvs__srv__Empty_Event", &support, error) == 0);
  rbd_type_t type;
  REQUIRE(rbd_type_of(support, &type, error) == 0);
  uint8_t data[56] = {0, 1, 0, 0, [4] = 1, [8] = 7, [12] = 8, [16] = 0xaa, [36] = 9, [44] = 1};
  void * message;
  rbd_service_event_t event;
  REQUIRE(rbd_typed_read(&type, data, sizeof data, &message, error) == 0);
  REQUIRE(rbd_service_event(&type, message, &event, error) == 0);
  REQUIRE(event.kind == 1 && event.sec == 7 && event.nanosec == 8 && event.gid[0] == 0xaa && event.sequence == 9);
  REQUIRE(event.request);
  rbd_typed_free(&type, message);
  data[44] = 200; // more requests than there are bytes
  REQUIRE(rbd_typed_read(&type, data, sizeof data, &message, error) != 0);
}

static void use_parameters(void)
{
  const char * path = "lifecycle.yaml";
  FILE * file = fopen(path, "w");
  REQUIRE(file);
  fputs("/**: {ros__parameters: {on: true, words: [a, b], deep: {rates: [1.0, 2.0]}, none: []}}\n", file);
  REQUIRE(fclose(file) == 0);
  const char * const words[] = {"--ros-args", "--params-file", path, "-p", "lifecycle:count:=1", "-r", "__ns:=/c"};
  rcl_arguments_t arguments = rcl_get_zero_initialized_arguments();
  REQUIRE(
    rcl_parse_arguments((int)(sizeof words / sizeof *words), words, rcl_get_default_allocator(), &arguments) == RCL_RET_OK);
  char *name, *space;
  REQUIRE(rbd_remapped(&arguments, "lifecycle", "", &name, &space, error) == 0);
  REQUIRE(strcmp(name, "lifecycle") == 0 && strcmp(space, "/c") == 0);
  free(name);
  free(space);
  rcl_params_t * parameters;
  REQUIRE(rbd_parameter_overrides(&arguments, &parameters, error) == 0 && parameters->num_nodes == 2);
  rbd_parameters_free(parameters);
  REQUIRE(rcl_arguments_fini(&arguments) == RCL_RET_OK);
  REQUIRE(rbd_parameter_file(path, &parameters, error) == 0 && parameters->params[0].num_params == 4);
  rbd_parameters_free(parameters);
  REQUIRE(rbd_parameter_file("nowhere.yaml", &parameters, error) != 0 && !parameters);

  arguments = rcl_get_zero_initialized_arguments();
  REQUIRE(rcl_parse_arguments(1, words, rcl_get_default_allocator(), &arguments) == RCL_RET_OK);
  REQUIRE(rbd_parameter_overrides(&arguments, &parameters, error) == 0 && !parameters);
  REQUIRE(rcl_arguments_fini(&arguments) == RCL_RET_OK);
}

int main(void)
{
  const rosidl_message_type_support_t *string, *wrong;
  const rosidl_service_type_support_t * empty;
  REQUIRE(rbd_typesupport(
            "libstd_msgs__rosidl_typesupport_c.so",
            "rosidl_typesupport_c__get_message_type_support_handle__std_msgs__msg__String", &string, error) == 0);
  REQUIRE(rbd_typesupport("libstd_msgs__rosidl_typesupport_c.so", "nothing", &wrong, error) != 0);
  REQUIRE(rbd_typesupport("libnothing.so", "nothing", &wrong, error) != 0);
  REQUIRE(rbd_service_typesupport(
            "libstd_srvs__rosidl_typesupport_c.so",
            "rosidl_typesupport_c__get_service_type_support_handle__std_srvs__srv__Empty", &empty, error) == 0);
  for (int round = 0; round < ROUNDS; round++) {
    world_t world;
    open_world(&world);
    use_plane(&world, string, "/c/string", &plane_options[round]);
    use_type(string);
    use_client(&world, empty);
    if (rbd_describer_exists()) {
      use_describer(&world);
      use_service_event(); // these came before the describer
    }
    use_parameters();
    rbd_opaque_t * ghost = make_opaque();
    if (rbd_opaque_fits()) {
      use_plane(&world, rbd_opaque_support(ghost), "/c/ghost", &plane_options[0]);
    }
    close_world(&world);
    rbd_opaque_free(ghost);
  }
  printf("lifecycle: %d rounds\n", ROUNDS);
  return 0;
}
