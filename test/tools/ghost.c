// ghost PACKAGE NAME TOPIC: offers a topic of a message type that is installed nowhere, until its standard input ends.
// It never publishes: to be seen in the graph is all that a recorder needs to stumble over.
//
// The type support is made at run time. It is laid out as rmw_fastrtps of Jazzy and Kilted want it: the serializer's
// table for the data, and an introspection table of one byte so that the type can be registered.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <rosidl_runtime_c/message_type_support_struct.h>
#include <rosidl_runtime_c/type_description/type_description__struct.h>
#include <rosidl_runtime_c/type_description/type_source__struct.h>
#include <rosidl_runtime_c/type_hash.h>
#include <rosidl_typesupport_introspection_c/field_types.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

#define SERIALIZER "rosidl_typesupport_fastrtps_c"
#define INTROSPECTION "rosidl_typesupport_introspection_c"

enum { NAME_SIZE = 128, SERIALIZED_SIZE = 5 };

// message_type_support_callbacks_t, whose own header is C++.
typedef struct
{
  const char * message_namespace;
  const char * message_name;
  bool (* serialize)(const void *, void *);
  bool (* deserialize)(void *, void *);
  uint32_t (* serialized_size)(const void *);
  size_t (* max_serialized_size)(char *);
  void * key_callbacks;
} serializer_t;

static const rosidl_type_hash_t hash = {.version = 1};
static rosidl_runtime_c__type_description__TypeDescription description;
static const rosidl_runtime_c__type_description__TypeSource__Sequence no_sources;
static rosidl_message_type_support_t introspection;

static bool refuse_to_serialize(const void * message, void * stream)
{
  (void)message;
  (void)stream;
  return false;
}

static bool refuse_to_deserialize(void * stream, void * message)
{
  (void)stream;
  (void)message;
  return false;
}

static uint32_t serialized_size(const void * message)
{
  (void)message;
  return SERIALIZED_SIZE;
}

static size_t max_serialized_size(char * bounds)
{
  *bounds = 0;
  return SERIALIZED_SIZE;
}

static void init_message(void * message, enum rosidl_runtime_c__message_initialization how)
{
  (void)how;
  *(uint8_t *)message = 0;
}

static void fini_message(void * message)
{
  (void)message;
}

static const rosidl_type_hash_t * get_hash(const rosidl_message_type_support_t * type)
{
  (void)type;
  return &hash;
}

static const rosidl_runtime_c__type_description__TypeDescription * get_description(
  const rosidl_message_type_support_t * type)
{
  (void)type;
  return &description;
}

static const rosidl_runtime_c__type_description__TypeSource__Sequence * get_sources(
  const rosidl_message_type_support_t * type)
{
  (void)type;
  return &no_sources;
}

static const rosidl_message_type_support_t * get_handle(
  const rosidl_message_type_support_t * type, const char * identifier)
{
  if (strcmp(identifier, INTROSPECTION) == 0) {
    return &introspection;
  }
  return strcmp(identifier, type->typesupport_identifier) == 0 ? type : NULL;
}

static void check(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    fprintf(stderr, "%s: %s\n", what, rcl_get_error_string().str);
    exit(1);
  }
}

int main(int argc, char ** argv)
{
  if (argc != 4) {
    fprintf(stderr, "usage: ghost PACKAGE NAME TOPIC\n");
    return 2;
  }
  char space[NAME_SIZE], full[NAME_SIZE];
  snprintf(space, sizeof space, "%s__msg", argv[1]);
  int length = snprintf(full, sizeof full, "%s/msg/%s", argv[1], argv[2]);
  description.type_description.type_name = (rosidl_runtime_c__String){full, (size_t)length, (size_t)length + 1};

  rosidl_typesupport_introspection_c__MessageMember member = {
    .name_ = "data", .type_id_ = rosidl_typesupport_introspection_c__ROS_TYPE_UINT8};
  rosidl_typesupport_introspection_c__MessageMembers members = {
    .message_namespace_ = space,
    .message_name_ = argv[2],
    .member_count_ = 1,
    .size_of_ = 1,
    .members_ = &member,
    .init_function = init_message,
    .fini_function = fini_message,
  };
  introspection = (rosidl_message_type_support_t){
    .typesupport_identifier = INTROSPECTION, .data = &members, .func = get_handle, .get_type_hash_func = get_hash};
  char colons[NAME_SIZE];
  snprintf(colons, sizeof colons, "%s::msg", argv[1]);
  serializer_t serializer = {
    .message_namespace = colons,
    .message_name = argv[2],
    .serialize = refuse_to_serialize,
    .deserialize = refuse_to_deserialize,
    .serialized_size = serialized_size,
    .max_serialized_size = max_serialized_size,
  };
  rosidl_message_type_support_t type = {
    .typesupport_identifier = SERIALIZER,
    .data = &serializer,
    .func = get_handle,
    .get_type_hash_func = get_hash,
    .get_type_description_func = get_description,
    .get_type_description_sources_func = get_sources,
  };

  rcl_init_options_t init = rcl_get_zero_initialized_init_options();
  check(rcl_init_options_init(&init, rcl_get_default_allocator()), "init options");
  rcl_context_t context = rcl_get_zero_initialized_context();
  check(rcl_init(0, NULL, &init, &context), "init");
  rcl_node_t node = rcl_get_zero_initialized_node();
  rcl_node_options_t node_options = rcl_node_get_default_options();
  check(rcl_node_init(&node, "ghost", "", &context, &node_options), "create node");
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t publisher_options = rcl_publisher_get_default_options();
  check(rcl_publisher_init(&publisher, &node, &type, argv[3], &publisher_options), "create publisher");
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  check(rcl_publisher_fini(&publisher, &node), "destroy publisher");
  check(rcl_node_fini(&node), "destroy node");
  check(rcl_shutdown(&context), "shut down");
  check(rcl_context_fini(&context), "destroy context");
  check(rcl_init_options_fini(&init), "destroy init options");
  return 0;
}
