//go:build ros

// Humble: types have no hashes and no descriptions. Included by distro.h alone.
#ifndef ROSBAGD_DISTRO_HUMBLE_H
#define ROSBAGD_DISTRO_HUMBLE_H

#define RBD_TYPES_ARE_DESCRIBED 0

static inline void rbd_endpoint_hash(const rmw_topic_endpoint_info_t * info, char * text, size_t size)
{
  (void)info;
  (void)size;
  text[0] = '\0';
}

#endif
