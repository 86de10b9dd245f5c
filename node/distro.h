//go:build ros

// What differs between the distros in the C interface of ROS, in one place.
#ifndef ROSBAGD_DISTRO_H
#define ROSBAGD_DISTRO_H

#include <stddef.h>
#include <stdio.h>

#include <rcl/rcl.h>
#include <rmw/rmw.h>

// Type hashes came with Iron (REP 2011); before it an endpoint has none.
#if defined(__has_include) && __has_include(<rosidl_runtime_c/type_hash.h>)
#include <rosidl_runtime_c/type_hash.h>
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
#else
static inline void rbd_endpoint_hash(const rmw_topic_endpoint_info_t * info, char * text, size_t size)
{
  (void)info;
  (void)size;
  text[0] = '\0';
}
#endif

#endif
