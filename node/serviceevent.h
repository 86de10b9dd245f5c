//go:build ros

// What is in a service event, a message of a type that is found at run time.
#ifndef ROSBAGD_SERVICEEVENT_H
#define ROSBAGD_SERVICEEVENT_H

#include <stdint.h>

#include "typed.h"

typedef struct rbd_service_event {
  uint8_t kind;
  int32_t sec;
  uint32_t nanosec;
  int64_t sequence;
  uint8_t gid[RBD_GID_SIZE];
  const void * request; // lies in the event message; NULL when it has none
} rbd_service_event_t;

// Looks into a message of the type "pkg/srv/Name_Event".
int rbd_service_event(const rbd_type_t * type, const void * message, rbd_service_event_t * event, char * error);

#endif
