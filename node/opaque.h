//go:build ros

// Type supports made at run time, for serialized traffic of types whose packages are not installed. Nothing is ever
// serialized or deserialized through one: its functions for that refuse. It carries what the graph is told of the type:
// its name, and in distros that have them its hash, description and sources.
#ifndef ROSBAGD_OPAQUE_H
#define ROSBAGD_OPAQUE_H

#include <stddef.h>
#include <stdint.h>

#include <rosidl_runtime_c/message_type_support_struct.h>

#include "dataplane.h"

typedef struct rbd_opaque rbd_opaque_t;

// Whether the middleware of this process takes such a type support.
int rbd_opaque_fits(void);

// Makes the type space::name ("pkg::msg", "Name"), which has hash (RIHS01_..., or empty) and a description without
// fields. All texts are copied. The type belongs to the caller until rbd_opaque_free, and must outlive the context of
// every node that has used it: the middleware registers the type for the context, and keeps pointers into it.
int rbd_opaque_create(
  const char * space, const char * name, const char * type_name, const char * hash, rbd_opaque_t ** out, char * error);
void rbd_opaque_free(rbd_opaque_t * type);

// Fills in the description: first how many types (the type itself and those that it refers to, sorted) and sources there
// are, then each type, each field of it, and each source. Before the type is first used, and once. All texts are copied.
// Distros without descriptions take it and keep nothing.
int rbd_opaque_describe(rbd_opaque_t * type, size_t types, size_t sources, char * error);
int rbd_opaque_type(rbd_opaque_t * type, size_t index, const char * name, size_t fields, char * error);
int rbd_opaque_field(
  rbd_opaque_t * type, size_t index, size_t field, const char * name, uint8_t type_id, uint64_t capacity,
  uint64_t string_capacity, const char * nested, const char * default_value, char * error);
int rbd_opaque_source(
  rbd_opaque_t * type, size_t index, const char * type_name, const char * encoding, const char * text, char * error);

// The type support, which belongs to type.
const rosidl_message_type_support_t * rbd_opaque_support(const rbd_opaque_t * type);

#endif
