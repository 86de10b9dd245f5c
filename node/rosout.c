//go:build ros

#include "rosout.h"

#include <rcl/error_handling.h>
#include <rcl/logging.h>
#include <rcl/logging_rosout.h>

int rbd_rosout_open(rcl_node_t * node, char * error)
{
  if (!rcl_logging_rosout_enabled()) {
    return 0; // --disable-rosout-logs
  }
  if (rcl_logging_rosout_init_publisher_for_node(node) != RCL_RET_OK) {
    rbd_take_error("publish log on /rosout", error);
    return 1;
  }
  return 0;
}

void rbd_rosout_close(rcl_node_t * node)
{
  if (rcl_logging_rosout_enabled() && rcl_logging_rosout_fini_publisher_for_node(node) != RCL_RET_OK) {
    rcl_reset_error();
  }
}

int rbd_logging_end(char * error)
{
  if (rcl_logging_fini() != RCL_RET_OK) {
    rbd_take_error("end log", error);
    return 1;
  }
  return 0;
}
