//go:build ros

// A type support that tells the hash, the description and the sources of the type as well: Iron, Jazzy, Kilted, Lyrical.
// The includer defines rbd_description_of, which finds the description that belongs to a type support.
#ifndef ROSBAGD_OPAQUE_LAYOUT_DESCRIBED_H
#define ROSBAGD_OPAQUE_LAYOUT_DESCRIBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rcutils/error_handling.h>
#include <rosidl_runtime_c/message_type_support_struct.h>
#include <rosidl_runtime_c/string_functions.h>
#include <rosidl_runtime_c/type_description/field__functions.h>
#include <rosidl_runtime_c/type_description/individual_type_description__functions.h>
#include <rosidl_runtime_c/type_description/type_description__functions.h>
#include <rosidl_runtime_c/type_description/type_source__functions.h>
#include <rosidl_runtime_c/type_hash.h>

typedef struct rbd_description {
  rosidl_type_hash_t hash;
  rosidl_runtime_c__type_description__TypeDescription type;           // owned
  rosidl_runtime_c__type_description__TypeSource__Sequence sources; // owned
} rbd_description_t;

static const rbd_description_t * rbd_description_of(const rosidl_message_type_support_t * support);

static inline bool rbd_description_init(rbd_description_t * d, const char * type_name, const char * hash)
{
  d->hash = rosidl_get_zero_initialized_type_hash();
  memset(&d->sources, 0, sizeof d->sources);
  if (!rosidl_runtime_c__type_description__TypeDescription__init(&d->type)) {
    memset(&d->type, 0, sizeof d->type);
    return false;
  }
  if (hash[0] != '\0' && rosidl_parse_type_hash_string(hash, &d->hash) != RCUTILS_RET_OK) {
    rcutils_reset_error();
    d->hash = rosidl_get_zero_initialized_type_hash(); // of a scheme that is not known here: as if there was none
  }
  return rosidl_runtime_c__String__assign(&d->type.type_description.type_name, type_name);
}

static inline void rbd_description_fini(rbd_description_t * d)
{
  rosidl_runtime_c__type_description__TypeSource__Sequence__fini(&d->sources);
  rosidl_runtime_c__type_description__TypeDescription__fini(&d->type);
}

static inline bool rbd_description_size(rbd_description_t * d, size_t types, size_t sources)
{
  return rosidl_runtime_c__type_description__IndividualTypeDescription__Sequence__init(
           &d->type.referenced_type_descriptions, types - 1) &&
         rosidl_runtime_c__type_description__TypeSource__Sequence__init(&d->sources, sources);
}

// The type itself has index 0.
static inline rosidl_runtime_c__type_description__IndividualTypeDescription * rbd_description_at(
  rbd_description_t * d, size_t index)
{
  return index == 0 ? &d->type.type_description : &d->type.referenced_type_descriptions.data[index - 1];
}

static inline bool rbd_description_type(rbd_description_t * d, size_t index, const char * name, size_t fields)
{
  rosidl_runtime_c__type_description__IndividualTypeDescription * type = rbd_description_at(d, index);
  return rosidl_runtime_c__String__assign(&type->type_name, name) &&
         rosidl_runtime_c__type_description__Field__Sequence__init(&type->fields, fields);
}

static inline bool rbd_description_field(
  rbd_description_t * d, size_t index, size_t field, const char * name, uint8_t type_id, uint64_t capacity,
  uint64_t string_capacity, const char * nested, const char * default_value)
{
  rosidl_runtime_c__type_description__Field * f = &rbd_description_at(d, index)->fields.data[field];
  f->type.type_id = type_id;
  f->type.capacity = capacity;
  f->type.string_capacity = string_capacity;
  return rosidl_runtime_c__String__assign(&f->name, name) &&
         rosidl_runtime_c__String__assign(&f->type.nested_type_name, nested) &&
         rosidl_runtime_c__String__assign(&f->default_value, default_value);
}

static inline bool rbd_description_source(
  rbd_description_t * d, size_t index, const char * type_name, const char * encoding, const char * text)
{
  rosidl_runtime_c__type_description__TypeSource * source = &d->sources.data[index];
  return rosidl_runtime_c__String__assign(&source->type_name, type_name) &&
         rosidl_runtime_c__String__assign(&source->encoding, encoding) &&
         rosidl_runtime_c__String__assign(&source->raw_file_contents, text);
}

static const rosidl_type_hash_t * rbd_layout_hash(const rosidl_message_type_support_t * support)
{
  return &rbd_description_of(support)->hash;
}

static const rosidl_runtime_c__type_description__TypeDescription * rbd_layout_description(
  const rosidl_message_type_support_t * support)
{
  return &rbd_description_of(support)->type;
}

static const rosidl_runtime_c__type_description__TypeSource__Sequence * rbd_layout_sources(
  const rosidl_message_type_support_t * support)
{
  return &rbd_description_of(support)->sources;
}

static inline rosidl_message_type_support_t rbd_layout_support(
  const char * identifier, const void * data, rosidl_message_typesupport_handle_function get_handle)
{
  return (rosidl_message_type_support_t){
    .typesupport_identifier = identifier,
    .data = data,
    .func = get_handle,
    .get_type_hash_func = rbd_layout_hash,
    .get_type_description_func = rbd_layout_description,
    .get_type_description_sources_func = rbd_layout_sources};
}

#endif
