//go:build ros

#include "parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>
#include <rcl/remap.h>
#include <rcl_yaml_param_parser/parser.h>

// Takes over what a remap function gave; no rule matched where that is NULL.
static int keep(char * remapped, const char * original, char ** kept)
{
  *kept = strdup(remapped ? remapped : original);
  rcl_allocator_t allocator = rcl_get_default_allocator();
  if (remapped) {
    allocator.deallocate(remapped, allocator.state);
  }
  return *kept ? 0 : 1;
}

int rbd_remapped(
  const rcl_arguments_t * arguments, const char * name, const char * space, char ** remapped_name,
  char ** remapped_space, char * error)
{
  char * text = NULL;
  if (rcl_remap_node_name(arguments, NULL, name, rcl_get_default_allocator(), &text) != RCL_RET_OK) {
    rbd_take_error("find name of node", error);
    return 1;
  }
  if (keep(text, name, remapped_name)) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  text = NULL;
  if (rcl_remap_node_namespace(arguments, NULL, *remapped_name, rcl_get_default_allocator(), &text) != RCL_RET_OK) {
    rbd_take_error("find namespace of node", error);
    free(*remapped_name);
    return 1;
  }
  if (keep(text, space, remapped_space)) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    free(*remapped_name);
    return 1;
  }
  return 0;
}

int rbd_parameter_overrides(const rcl_arguments_t * arguments, rcl_params_t ** parameters, char * error)
{
  *parameters = NULL;
  if (rcl_arguments_get_param_overrides(arguments, parameters) != RCL_RET_OK) {
    rbd_take_error("read parameters", error);
    return 1;
  }
  return 0;
}

int rbd_parameter_file(const char * path, rcl_params_t ** parameters, char * error)
{
  *parameters = rcl_yaml_node_struct_init(rcl_get_default_allocator());
  if (!*parameters) {
    rcl_reset_error();
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  if (!rcl_parse_yaml_file(path, *parameters)) {
    rbd_take_error("read parameter file", error);
    rcl_yaml_node_struct_fini(*parameters);
    *parameters = NULL;
    return 1;
  }
  return 0;
}

void rbd_parameters_free(rcl_params_t * parameters)
{
  rcl_yaml_node_struct_fini(parameters);
}
