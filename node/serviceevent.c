//go:build ros

#include "serviceevent.h"

#include <stdio.h>
#include <string.h>

#include <rosidl_typesupport_introspection_c/field_types.h>

typedef rosidl_typesupport_introspection_c__MessageMembers members_t;
typedef rosidl_typesupport_introspection_c__MessageMember member_t;

static const member_t * find(const members_t * members, const char * name)
{
  for (uint32_t i = 0; i < members->member_count_; i++) {
    if (strcmp(members->members_[i].name_, name) == 0) {
      return &members->members_[i];
    }
  }
  return NULL;
}

// Copies a field of known size; leaves to as it is and answers 1 when the type has no such field.
static int copy(const members_t * members, const void * message, const char * name, void * to, size_t size)
{
  const member_t * member = find(members, name);
  if (!member || member->offset_ + size > members->size_of_) {
    return 1;
  }
  memcpy(to, (const char *)message + member->offset_, size);
  return 0;
}

// The layout of a nested message, and where it lies; NULL when there is none of that name.
static const members_t * nested(const members_t * members, const char * name, const void ** message)
{
  const member_t * member = find(members, name);
  if (!member || member->type_id_ != rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE || member->is_array_) {
    return NULL;
  }
  *message = (const char *)*message + member->offset_;
  return member->members_->data;
}

int rbd_service_event(const rbd_type_t * type, const void * message, rbd_service_event_t * event, char * error)
{
  memset(event, 0, sizeof *event);
  const void * info = message;
  const members_t * info_members = nested(type->members, "info", &info);
  const void * stamp = info;
  const members_t * stamp_members = info_members ? nested(info_members, "stamp", &stamp) : NULL;
  const member_t * request = find(type->members, "request");
  if (
    !stamp_members || !request || !request->is_array_ || !request->size_function || !request->get_const_function ||
    copy(info_members, info, "event_type", &event->kind, sizeof event->kind) != 0 ||
    copy(info_members, info, "client_gid", event->gid, sizeof event->gid) != 0 ||
    copy(info_members, info, "sequence_number", &event->sequence, sizeof event->sequence) != 0 ||
    copy(stamp_members, stamp, "sec", &event->sec, sizeof event->sec) != 0 ||
    copy(stamp_members, stamp, "nanosec", &event->nanosec, sizeof event->nanosec) != 0) {
    snprintf(error, RBD_ERROR_SIZE, "it is no event of a service");
    return 1;
  }
  const void * requests = (const char *)message + request->offset_;
  if (request->size_function(requests) > 0) {
    event->request = request->get_const_function(requests, 0);
  }
  return 0;
}
