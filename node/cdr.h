//go:build ros

// A look through serialized bytes before the middleware makes structs of them.
#ifndef ROSBAGD_CDR_H
#define ROSBAGD_CDR_H

#include <stddef.h>
#include <stdint.h>

#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include "dataplane.h"

#define RBD_ENCAPSULATION_SIZE 4

// Checks that every field, string and sequence element that the bytes promise lies in them. What passes makes structs
// of a few times its own size at most: readers make room for a whole sequence when they see its length, and not all of
// them look first whether the elements can be there. used is how many of the bytes the message takes.
int rbd_cdr_check(
  const rosidl_typesupport_introspection_c__MessageMembers * members, const uint8_t * data, size_t size, size_t * used,
  char * error);

#endif
