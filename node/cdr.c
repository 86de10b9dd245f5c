//go:build ros

#include "cdr.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rmw/rmw.h>
#include <rosidl_typesupport_introspection_c/field_types.h>

typedef rosidl_typesupport_introspection_c__MessageMembers members_t;
typedef rosidl_typesupport_introspection_c__MessageMember member_t;

typedef struct cursor {
  const uint8_t * data; // after the encapsulation header: alignment counts from here
  size_t size;
  size_t at;
  bool big_endian;
  size_t wide; // bytes of a character of a wide string
} cursor_t;

static bool align(cursor_t * cursor, size_t alignment)
{
  size_t at = (cursor->at + alignment - 1) / alignment * alignment;
  if (at > cursor->size) {
    return false;
  }
  cursor->at = at;
  return true;
}

static bool skip(cursor_t * cursor, size_t count, size_t size)
{
  if (count > (cursor->size - cursor->at) / size) {
    return false;
  }
  cursor->at += count * size;
  return true;
}

static bool length(cursor_t * cursor, size_t * value)
{
  if (!align(cursor, 4) || cursor->size - cursor->at < 4) {
    return false;
  }
  const uint8_t * b = cursor->data + cursor->at;
  uint32_t read = cursor->big_endian
    ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
    : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
  cursor->at += 4;
  *value = read;
  return true;
}

// The size of a number, 0 for what has none of its own.
static size_t number_size(uint8_t type)
{
  switch (type) {
    case rosidl_typesupport_introspection_c__ROS_TYPE_CHAR:
    case rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN:
    case rosidl_typesupport_introspection_c__ROS_TYPE_OCTET:
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT8:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT8:
      return 1;
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
      return 2;
    case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
    case rosidl_typesupport_introspection_c__ROS_TYPE_WCHAR:
      return 4;
    case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
      return 8;
    case rosidl_typesupport_introspection_c__ROS_TYPE_LONG_DOUBLE:
      return 16;
    default:
      return 0;
  }
}

static bool check_members(cursor_t * cursor, const members_t * members, const member_t ** failed);

// Goes over count values of the type of one field.
static bool check_values(cursor_t * cursor, const member_t * member, size_t count, const member_t ** failed)
{
  size_t number = number_size(member->type_id_);
  if (number > 0) {
    // No value, no padding.
    return count == 0 || (align(cursor, number > 8 ? 8 : number) && skip(cursor, count, number));
  }
  for (size_t i = 0; i < count; i++) {
    size_t characters;
    switch (member->type_id_) {
      case rosidl_typesupport_introspection_c__ROS_TYPE_STRING:
        if (!length(cursor, &characters) || !skip(cursor, characters, 1)) {
          return false;
        }
        break;
      case rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING:
        if (!length(cursor, &characters) || !skip(cursor, characters, cursor->wide)) {
          return false;
        }
        break;
      case rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE:
        if (!check_members(cursor, member->members_->data, failed)) {
          return false;
        }
        break;
      default:
        return false; // a kind of field that we do not know
    }
  }
  return true;
}

// The recursion ends with the nesting of the type, which the bytes have no say in.
static bool check_members(cursor_t * cursor, const members_t * members, const member_t ** failed)
{
  for (uint32_t i = 0; i < members->member_count_; i++) {
    const member_t * member = &members->members_[i];
    size_t count = 1;
    bool sequence = member->is_array_ && (member->array_size_ == 0 || member->is_upper_bound_);
    if (member->is_array_ && !sequence) {
      count = member->array_size_;
    }
    if ((sequence && !length(cursor, &count)) || !check_values(cursor, member, count, failed)) {
      if (!*failed) {
        *failed = member; // the innermost one
      }
      return false;
    }
  }
  return true;
}

int rbd_cdr_check(const members_t * members, const uint8_t * data, size_t size, size_t * used, char * error)
{
  if (size < RBD_ENCAPSULATION_SIZE) {
    snprintf(error, RBD_ERROR_SIZE, "%zu bytes are too few for a serialized message", size);
    return 1;
  }
  if (data[0] != 0 || data[1] > 1) {
    snprintf(error, RBD_ERROR_SIZE, "encapsulation %02x%02x is not that of plain CDR", data[0], data[1]);
    return 1;
  }
  cursor_t cursor = {
    .data = data + RBD_ENCAPSULATION_SIZE,
    .size = size - RBD_ENCAPSULATION_SIZE,
    .big_endian = data[1] == 0,
    // Each middleware has its own idea of these; all that use Fast CDR write four bytes.
    .wide = strstr(rmw_get_implementation_identifier(), "cyclonedds") ? 2 : 4};
  const member_t * failed = NULL;
  if (!check_members(&cursor, members, &failed)) {
    snprintf(
      error, RBD_ERROR_SIZE, "its %zu bytes end before field %s does", size, failed ? failed->name_ : "(unknown)");
    return 1;
  }
  *used = RBD_ENCAPSULATION_SIZE + cursor.at;
  return 0;
}
