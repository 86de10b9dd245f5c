//go:build ros

// What differs between the distros in the C interface of ROS; docs/distros.md has the table. Distros are told apart by
// the headers they have, since ROS has no macro for it.
#ifndef ROSBAGD_DISTRO_H
#define ROSBAGD_DISTRO_H

#include <stddef.h>
#include <stdio.h>

#include <rcutils/allocator.h>
#include <rcutils/error_handling.h>
#include <rmw/topic_endpoint_info.h>

// Each of these files defines
//   RBD_TYPES_ARE_DESCRIBED              whether type supports tell the hash, the description and the sources of a type,
//                                        and rcl answers ~/get_type_description
//   rbd_endpoint_hash(info, text, size)  the type hash of an endpoint as text, empty where the peer or the distro has none
#if __has_include(<rosidl_runtime_c/type_hash.h>)
#include "distro_jazzy.h"
#else
#include "distro_humble.h"
#endif

#endif
