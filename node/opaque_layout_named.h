//go:build ros

// A type support that tells the name of the type and nothing else: Humble.
#ifndef ROSBAGD_OPAQUE_LAYOUT_NAMED_H
#define ROSBAGD_OPAQUE_LAYOUT_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rosidl_runtime_c/message_type_support_struct.h>

typedef struct rbd_description {
  char none;
} rbd_description_t;

static inline bool rbd_description_init(rbd_description_t * d, const char * type_name, const char * hash)
{
  (void)type_name;
  (void)hash;
  d->none = 0;
  return true;
}

static inline void rbd_description_fini(rbd_description_t * d)
{
  (void)d;
}

static inline bool rbd_description_size(rbd_description_t * d, size_t types, size_t sources)
{
  (void)d;
  (void)types;
  (void)sources;
  return true;
}

static inline bool rbd_description_type(rbd_description_t * d, size_t index, const char * name, size_t fields)
{
  (void)d;
  (void)index;
  (void)name;
  (void)fields;
  return true;
}

static inline bool rbd_description_field(
  rbd_description_t * d, size_t index, size_t field, const char * name, uint8_t type_id, uint64_t capacity,
  uint64_t string_capacity, const char * nested, const char * default_value)
{
  (void)d;
  (void)index;
  (void)field;
  (void)name;
  (void)type_id;
  (void)capacity;
  (void)string_capacity;
  (void)nested;
  (void)default_value;
  return true;
}

static inline bool rbd_description_source(
  rbd_description_t * d, size_t index, const char * type_name, const char * encoding, const char * text)
{
  (void)d;
  (void)index;
  (void)type_name;
  (void)encoding;
  (void)text;
  return true;
}

static inline rosidl_message_type_support_t rbd_layout_support(
  const char * identifier, const void * data, rosidl_message_typesupport_handle_function get_handle)
{
  return (rosidl_message_type_support_t){.typesupport_identifier = identifier, .data = data, .func = get_handle};
}

#endif
