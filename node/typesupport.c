//go:build ros

#include "typesupport.h"

#include <dlfcn.h>
#include <stdio.h>

// A function pointer can not be cast from void * in ISO C; the union says what POSIX promises.
typedef union handle_function {
  void * object;
  const rosidl_message_type_support_t * (*message)(void);
  const rosidl_service_type_support_t * (*service)(void);
} handle_function_t;

static int find_function(const char * library, const char * symbol, handle_function_t * found, char * error)
{
  void * handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    snprintf(error, RBD_ERROR_SIZE, "%s", dlerror());
    return 1;
  }
  found->object = dlsym(handle, symbol);
  if (!found->object) {
    snprintf(error, RBD_ERROR_SIZE, "%s", dlerror());
    return 1;
  }
  return 0;
}

static int require_support(const void * support, const char * symbol, char * error)
{
  if (!support) {
    snprintf(error, RBD_ERROR_SIZE, "%s gives no type support", symbol);
    return 1;
  }
  return 0;
}

int rbd_typesupport(
  const char * library, const char * symbol, const rosidl_message_type_support_t ** type_support, char * error)
{
  handle_function_t found;
  if (find_function(library, symbol, &found, error) != 0) {
    return 1;
  }
  *type_support = found.message();
  return require_support(*type_support, symbol, error);
}

int rbd_service_typesupport(
  const char * library, const char * symbol, const rosidl_service_type_support_t ** type_support, char * error)
{
  handle_function_t found;
  if (find_function(library, symbol, &found, error) != 0) {
    return 1;
  }
  *type_support = found.service();
  return require_support(*type_support, symbol, error);
}
