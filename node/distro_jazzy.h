//go:build ros

// Jazzy. Kilted and Lyrical differ from it in nothing that the C code uses. Included by distro.h alone.
#ifndef ROSBAGD_DISTRO_JAZZY_H
#define ROSBAGD_DISTRO_JAZZY_H

#include <rosidl_runtime_c/type_hash.h>

#define RBD_TYPES_ARE_DESCRIBED 1

static inline void rbd_endpoint_hash(const rmw_topic_endpoint_info_t * info, char * text, size_t size)
{
  text[0] = '\0';
  if (info->topic_type_hash.version == 0) {
    return; // the peer did not tell
  }
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  char * hash = NULL;
  if (rosidl_stringify_type_hash(&info->topic_type_hash, allocator, &hash) != RCUTILS_RET_OK) {
    rcutils_reset_error();
    return;
  }
  snprintf(text, size, "%s", hash);
  allocator.deallocate(hash, allocator.state);
}

#endif
