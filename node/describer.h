//go:build ros

// The service ~/get_type_description, with which other nodes ask what the types of our topics and services are made of.
// rcl answers out of what was created on the node.
#ifndef ROSBAGD_DESCRIBER_H
#define ROSBAGD_DESCRIBER_H

#include "typed.h"

typedef struct rbd_describer rbd_describer_t;

// Whether rcl of this distro has the service (Jazzy and newer).
int rbd_describer_exists(void);
// node, and the libraries behind request and response, are borrowed. event, borrowed, is an eventfd that is signalled
// when requests may be there. The service belongs to the caller until rbd_describer_destroy, which must come before node
// ends.
int rbd_describer_create(
  rcl_node_t * node, const rbd_type_t * request, const rbd_type_t * response, int event, rbd_describer_t ** out,
  char * error);
// Answers the requests that are there. Nothing may be created or destroyed on the node meanwhile: rcl's memory of types
// is not for several threads.
int rbd_describer_answer(rbd_describer_t * describer, char * error);
void rbd_describer_destroy(rbd_describer_t * describer);

#endif
