//go:build ros

// Messages as the C structs of their installed packages: rcl's clients take and give nothing else.
#ifndef ROSBAGD_TYPED_H
#define ROSBAGD_TYPED_H

#include <stddef.h>
#include <stdint.h>

#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include "dataplane.h"

// A message type with its memory layout. Both pointers are borrowed from the library of the package, which stays open.
typedef struct rbd_type {
  const rosidl_message_type_support_t * support;
  const rosidl_typesupport_introspection_c__MessageMembers * members;
} rbd_type_t;

// Serialized bytes, encapsulation header included. They belong to the caller until rbd_bytes_free.
typedef struct rbd_bytes {
  uint8_t * data;
  size_t size;
} rbd_bytes_t;

// Finds the layout behind a type support.
int rbd_type_of(const rosidl_message_type_support_t * support, rbd_type_t * type, char * error);
// Makes an initialized message; NULL when there is no memory. It belongs to the caller until rbd_typed_free.
void * rbd_typed_new(const rbd_type_t * type);
void rbd_typed_free(const rbd_type_t * type, void * message);
// Makes the message that the bytes hold. It belongs to the caller until rbd_typed_free.
int rbd_typed_read(const rbd_type_t * type, const uint8_t * data, size_t size, void ** message, char * error);
int rbd_typed_write(const rbd_type_t * type, const void * message, rbd_bytes_t * bytes, char * error);
void rbd_bytes_free(rbd_bytes_t * bytes);

#endif
