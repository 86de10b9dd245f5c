//go:build ros

// Memory for payloads: blocks of a few sizes, chained to a batch, recycled through a small pool of the process.
#ifndef ROSBAGD_BLOCKS_H
#define ROSBAGD_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "dataplane.h"

struct rbd_block {
  rbd_block_t * next;
  size_t capacity; // bytes behind this header
  size_t used;
  // Payload memory follows, aligned to 16 bytes by the allocator.
};

// A block of at least min bytes; NULL when there is no memory.
rbd_block_t * rbd_block_get(size_t min);
// The capacity that a block of at least min bytes would have.
size_t rbd_block_capacity(size_t min);
uint8_t * rbd_block_data(rbd_block_t * block);

#endif
