//go:build ros

// Type supports of installed interface packages, found at run time.
#ifndef ROSBAGD_TYPESUPPORT_H
#define ROSBAGD_TYPESUPPORT_H

#include <rosidl_runtime_c/message_type_support_struct.h>
#include <rosidl_runtime_c/service_type_support_struct.h>

#include "dataplane.h"

// Opens library (a path or a name for the dynamic linker) and calls the function symbol, which answers with the type
// support. The library stays open for the life of the process: the type support lies in it, and subscriptions of the
// middleware keep pointers to it for longer than we can know.
int rbd_typesupport(
  const char * library, const char * symbol, const rosidl_message_type_support_t ** type_support, char * error);
int rbd_service_typesupport(
  const char * library, const char * symbol, const rosidl_service_type_support_t ** type_support, char * error);

#endif
