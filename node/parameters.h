//go:build ros

// What ROS arguments and parameter files say about the parameters of a node, read by rcl's own parser.
//
// Owners. Parameters that a function gives belong to the caller, until rbd_parameters_free; so do texts, until free.
// Arguments are borrowed. Errors are texts in a buffer of the caller (RBD_ERROR_SIZE bytes); functions return 0 on
// success.
#ifndef ROSBAGD_PARAMETERS_H
#define ROSBAGD_PARAMETERS_H

#include <rcl/arguments.h>
#include <rcl_yaml_param_parser/types.h>

#include "dataplane.h"

// The name and the namespace that a node gets by remap rules, given those that it would have without.
int rbd_remapped(
  const rcl_arguments_t * arguments, const char * name, const char * space, char ** remapped_name,
  char ** remapped_space, char * error);
// All that the arguments say, files included. NULL where they say nothing.
int rbd_parameter_overrides(const rcl_arguments_t * arguments, rcl_params_t ** parameters, char * error);
// What one file says.
int rbd_parameter_file(const char * path, rcl_params_t ** parameters, char * error);
void rbd_parameters_free(rcl_params_t * parameters);

#endif
