//go:build ros

#include "typesupport.h"

#include <dlfcn.h>
#include <stdio.h>

int rbd_typesupport(
  const char * library, const char * symbol, const rosidl_message_type_support_t ** type_support, char * error)
{
  void * handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    snprintf(error, RBD_ERROR_SIZE, "%s", dlerror());
    return 1;
  }
  // A function pointer can not be cast from void * in ISO C; the union says what POSIX promises.
  union {
    void * object;
    const rosidl_message_type_support_t * (*function)(void);
  } found = {.object = dlsym(handle, symbol)};
  if (!found.object) {
    snprintf(error, RBD_ERROR_SIZE, "%s", dlerror());
    return 1;
  }
  *type_support = found.function();
  if (!*type_support) {
    snprintf(error, RBD_ERROR_SIZE, "%s gives no type support", symbol);
    return 1;
  }
  return 0;
}
