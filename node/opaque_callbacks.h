//go:build ros

// The table of functions behind a type support of rmw_fastrtps_cpp, message_type_support_callbacks_t, whose own header
// is C++. Distros have only added to its end: Jazzy key_callbacks, Lyrical has_buffer_fields with two functions. All
// that was added may be zero, so that one table serves all of them.
#ifndef ROSBAGD_OPAQUE_CALLBACKS_H
#define ROSBAGD_OPAQUE_CALLBACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rbd_callbacks {
  const char * message_namespace; // "pkg::msg"
  const char * message_name;
  bool (*cdr_serialize)(const void * message, void * cdr);
  bool (*cdr_deserialize)(void * cdr, void * message);
  uint32_t (*get_serialized_size)(const void * message);
  size_t (*max_serialized_size)(char * bounds);
  const void * added[8];
} rbd_callbacks_t;

#endif
