//go:build ros

#include "typed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>
#include <rmw/rmw.h>
#include <rosidl_typesupport_introspection_c/identifier.h>

#include "cdr.h"

int rbd_type_of(const rosidl_message_type_support_t * support, rbd_type_t * type, char * error)
{
  const rosidl_message_type_support_t * introspection =
    get_message_typesupport_handle(support, rosidl_typesupport_introspection_c__identifier);
  if (!introspection || !introspection->data) {
    if (rcl_error_is_set()) {
      rbd_take_error("find layout of type", error);
    } else {
      snprintf(error, RBD_ERROR_SIZE, "find layout of type: its package has no introspection type support");
    }
    return 1;
  }
  type->support = support;
  type->members = introspection->data;
  return 0;
}

void * rbd_typed_new(const rbd_type_t * type)
{
  // A message without fields has one byte all the same.
  void * message = calloc(1, type->members->size_of_ ? type->members->size_of_ : 1);
  if (message) {
    type->members->init_function(message, ROSIDL_RUNTIME_C_MSG_INIT_ALL);
  }
  return message;
}

void rbd_typed_free(const rbd_type_t * type, void * message)
{
  if (message) {
    type->members->fini_function(message);
    free(message);
  }
}

int rbd_typed_read(const rbd_type_t * type, const uint8_t * data, size_t size, void ** out, char * error)
{
  *out = NULL;
  size_t used;
  if (rbd_cdr_check(type->members, data, size, &used, error) != 0) {
    return 1;
  }
  void * message = rbd_typed_new(type);
  if (!message) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  // The middleware only reads the buffer, hence the cast.
  rcl_serialized_message_t serialized = {
    .buffer = (uint8_t *)data,
    .buffer_length = size,
    .buffer_capacity = size,
    .allocator = rcl_get_default_allocator()};
  if (rmw_deserialize(&serialized, type->support, message) != RMW_RET_OK) {
    rbd_take_error("read serialized message", error);
    rbd_typed_free(type, message);
    return 1;
  }
  *out = message;
  return 0;
}

static void fini_serialized(rcl_serialized_message_t * serialized)
{
  if (rmw_serialized_message_fini(serialized) != RMW_RET_OK) {
    rcl_reset_error();
  }
}

// The middleware leaves the bytes of the padding as they are in new memory: here they are zero.
static void * zeroed_reallocate(void * pointer, size_t size, void * state)
{
  (void)state;
  return pointer ? realloc(pointer, size) : calloc(1, size);
}

int rbd_typed_write(const rbd_type_t * type, const void * message, rbd_bytes_t * bytes, char * error)
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  allocator.reallocate = zeroed_reallocate;
  rcl_serialized_message_t serialized = rmw_get_zero_initialized_serialized_message();
  if (rmw_serialized_message_init(&serialized, 0, &allocator) != RMW_RET_OK) {
    rbd_take_error("serialize message", error);
    return 1;
  }
  if (rmw_serialize(message, type->support, &serialized) != RMW_RET_OK) {
    rbd_take_error("serialize message", error);
    fini_serialized(&serialized);
    return 1;
  }
  // The length is an estimate and may have room for padding that was not needed.
  size_t used;
  if (rbd_cdr_check(type->members, serialized.buffer, serialized.buffer_length, &used, error) != 0) {
    fini_serialized(&serialized);
    return 1;
  }
  bytes->data = serialized.buffer;
  bytes->size = used;
  return 0;
}

void rbd_bytes_free(rbd_bytes_t * bytes)
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  allocator.deallocate(bytes->data, allocator.state);
  memset(bytes, 0, sizeof *bytes);
}
