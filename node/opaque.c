//go:build ros

#include "opaque.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rmw/rmw.h>
#include <rosidl_typesupport_introspection_c/field_types.h>
#include <rosidl_typesupport_introspection_c/identifier.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include "distro.h"
#include "opaque_callbacks.h"
#if RBD_TYPES_ARE_DESCRIBED
#include "opaque_layout_described.h"
#else
#include "opaque_layout_named.h"
#endif

// Up to Jazzy, rmw_fastrtps_cpp makes no endpoint of a type without a table of its fields, and endpoints match by the
// name of their types. From Kilted on (rcl 10, Fast DDS 3) the table may be empty, and must be: one that is not the
// other side's would keep the endpoints apart, without one they match by name.
#if __has_include(<rcl/version.h>)
#include <rcl/version.h>
#endif
#if defined(RCL_VERSION_MAJOR) && RCL_VERSION_MAJOR >= 10
#define HAS_TABLE 0
#else
#define HAS_TABLE 1
#endif

#define SERIALIZER "rosidl_typesupport_fastrtps_c"
#define INTROSPECTION rosidl_typesupport_introspection_c__identifier // is told from others by its address
// What the middleware sizes its first buffers by: the header of a message, and that there is no upper bound.
#define SERIALIZED_SIZE 4
#define UNBOUNDED 0

struct rbd_opaque {
  rosidl_message_type_support_t serializer;    // what is handed out
  rosidl_message_type_support_t introspection; // what the middleware registers the type with
  rbd_callbacks_t callbacks;
  rosidl_typesupport_introspection_c__MessageMembers members;
  rosidl_typesupport_introspection_c__MessageMember member; // a type of no member can not be registered
  rbd_description_t description;
  char * space; // owned
  char * name;  // owned
};

// A type support is always one of the two within an rbd_opaque_t.
static const rbd_opaque_t * type_of(const rosidl_message_type_support_t * support)
{
  size_t offset = strcmp(support->typesupport_identifier, SERIALIZER) == 0 ? offsetof(rbd_opaque_t, serializer)
                                                                          : offsetof(rbd_opaque_t, introspection);
  return (const rbd_opaque_t *)((const char *)support - offset);
}

#if RBD_TYPES_ARE_DESCRIBED
static const rbd_description_t * rbd_description_of(const rosidl_message_type_support_t * support)
{
  return &type_of(support)->description;
}
#endif

static const rosidl_message_type_support_t * get_handle(
  const rosidl_message_type_support_t * support, const char * identifier)
{
  const rbd_opaque_t * type = type_of(support);
  if (strcmp(identifier, SERIALIZER) == 0) {
    return &type->serializer;
  }
  return strcmp(identifier, INTROSPECTION) == 0 ? &type->introspection : NULL;
}

static bool refuse_to_serialize(const void * message, void * cdr)
{
  (void)message;
  (void)cdr;
  return false;
}

static bool refuse_to_deserialize(void * cdr, void * message)
{
  (void)cdr;
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
  *bounds = UNBOUNDED;
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

int rbd_opaque_fits(void)
{
  return strcmp(rmw_get_implementation_identifier(), "rmw_fastrtps_cpp") == 0;
}

static int out_of_memory(char * error)
{
  snprintf(error, RBD_ERROR_SIZE, "out of memory");
  return 1;
}

int rbd_opaque_create(
  const char * space, const char * name, const char * type_name, const char * hash, rbd_opaque_t ** out, char * error)
{
  rbd_opaque_t * type = calloc(1, sizeof *type);
  if (!type) {
    return out_of_memory(error);
  }
  type->space = strdup(space);
  type->name = strdup(name);
  if (!rbd_description_init(&type->description, type_name, hash) || !type->space || !type->name) {
    rbd_opaque_free(type);
    return out_of_memory(error);
  }
  type->callbacks = (rbd_callbacks_t){
    .message_namespace = type->space,
    .message_name = type->name,
    .cdr_serialize = refuse_to_serialize,
    .cdr_deserialize = refuse_to_deserialize,
    .get_serialized_size = serialized_size,
    .max_serialized_size = max_serialized_size};
  type->member = (rosidl_typesupport_introspection_c__MessageMember){
    .name_ = "opaque", .type_id_ = rosidl_typesupport_introspection_c__ROS_TYPE_UINT8};
  type->members = (rosidl_typesupport_introspection_c__MessageMembers){
    .message_namespace_ = type->space,
    .message_name_ = type->name,
    .member_count_ = 1,
    .size_of_ = 1,
    .members_ = &type->member,
    .init_function = init_message,
    .fini_function = fini_message};
  type->serializer = rbd_layout_support(SERIALIZER, &type->callbacks, get_handle);
  type->introspection = rbd_layout_support(INTROSPECTION, HAS_TABLE ? &type->members : NULL, get_handle);
  *out = type;
  return 0;
}

void rbd_opaque_free(rbd_opaque_t * type)
{
  rbd_description_fini(&type->description);
  free(type->space);
  free(type->name);
  free(type);
}

int rbd_opaque_describe(rbd_opaque_t * type, size_t types, size_t sources, char * error)
{
  return rbd_description_size(&type->description, types, sources) ? 0 : out_of_memory(error);
}

int rbd_opaque_type(rbd_opaque_t * type, size_t index, const char * name, size_t fields, char * error)
{
  return rbd_description_type(&type->description, index, name, fields) ? 0 : out_of_memory(error);
}

int rbd_opaque_field(
  rbd_opaque_t * type, size_t index, size_t field, const char * name, uint8_t type_id, uint64_t capacity,
  uint64_t string_capacity, const char * nested, const char * default_value, char * error)
{
  return rbd_description_field(
           &type->description, index, field, name, type_id, capacity, string_capacity, nested, default_value)
           ? 0
           : out_of_memory(error);
}

int rbd_opaque_source(
  rbd_opaque_t * type, size_t index, const char * type_name, const char * encoding, const char * text, char * error)
{
  return rbd_description_source(&type->description, index, type_name, encoding, text) ? 0 : out_of_memory(error);
}

const rosidl_message_type_support_t * rbd_opaque_support(const rbd_opaque_t * type)
{
  return &type->serializer;
}
