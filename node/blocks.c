//go:build ros

#include "blocks.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>

#define HEADER_SIZE 32 // of struct rbd_block, rounded up so that payloads stay aligned
_Static_assert(sizeof(rbd_block_t) <= HEADER_SIZE, "header must fit");

#define CLASSES 7
// Growing by four wastes at most three quarters of the last block of a batch; more sizes would pool worse.
static const size_t class_capacity[CLASSES] = {4096 - HEADER_SIZE,    16384 - HEADER_SIZE,   65536 - HEADER_SIZE,
                                               262144 - HEADER_SIZE,  1048576 - HEADER_SIZE, 4194304 - HEADER_SIZE,
                                               16777216 - HEADER_SIZE};

// What the pool keeps at most. Fresh pages cost a fault each 4 KiB, a tenth of a core at 100 MB/s.
#define POOL_LIMIT (16u << 20)

static struct {
  pthread_mutex_t mutex;
  rbd_block_t * free[CLASSES]; // owned by the pool
  size_t bytes;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int class_of(size_t min)
{
  for (int i = 0; i < CLASSES; i++) {
    if (min <= class_capacity[i]) {
      return i;
    }
  }
  return -1;
}

size_t rbd_block_capacity(size_t min)
{
  int class = class_of(min);
  return class < 0 ? min : class_capacity[class];
}

rbd_block_t * rbd_block_get(size_t min)
{
  int class = class_of(min);
  rbd_block_t * block = NULL;
  if (class >= 0) {
    pthread_mutex_lock(&pool.mutex);
    block = pool.free[class];
    if (block) {
      pool.free[class] = block->next;
      pool.bytes -= block->capacity;
    }
    pthread_mutex_unlock(&pool.mutex);
  }
  if (!block) {
    size_t capacity = rbd_block_capacity(min);
    if (capacity > SIZE_MAX - HEADER_SIZE) {
      return NULL;
    }
    block = malloc(HEADER_SIZE + capacity);
    if (!block) {
      return NULL;
    }
    block->capacity = capacity;
  }
  block->next = NULL;
  block->used = 0;
  return block;
}

uint8_t * rbd_block_data(rbd_block_t * block)
{
  return (uint8_t *)block + HEADER_SIZE;
}

void rbd_release(rbd_block_t * block)
{
  while (block) {
    rbd_block_t * next = block->next;
    int class = class_of(block->capacity);
    int keep = 0;
    if (class >= 0 && block->capacity == class_capacity[class]) {
      pthread_mutex_lock(&pool.mutex);
      if (pool.bytes + block->capacity <= POOL_LIMIT) {
        block->next = pool.free[class];
        pool.free[class] = block;
        pool.bytes += block->capacity;
        keep = 1;
      }
      pthread_mutex_unlock(&pool.mutex);
    }
    if (!keep) {
      free(block);
    }
    block = next;
  }
}
