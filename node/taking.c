//go:build ros

// Taking: from a subscription into blocks of ours, with one copy.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>

#include "plane.h"

// One batch ends here; the rest is taken at once by the next call. Bounds the memory of a batch.
#define BATCH_BYTES_MAX (64u << 20)

static bool add_block(rbd_taking_t * taking, size_t min)
{
  // The next block is larger than the last one, so that a batch of many messages has few blocks.
  size_t want = min;
  if (taking->tail && taking->tail->capacity * 2 > want && taking->tail->capacity < (1u << 20) / 2) {
    want = taking->tail->capacity * 2;
  }
  rbd_block_t * block = rbd_block_get(want);
  if (!block) {
    return false;
  }
  if (taking->tail) {
    taking->tail->next = block;
  } else {
    taking->head = block;
  }
  taking->tail = block;
  taking->bytes += block->capacity;
  return true;
}

// The middleware asks for a larger buffer through the allocator of the serialized message. Handing it a block of ours
// is what makes the copy out of the middleware the only one.
static void * take_allocate(size_t size, void * state)
{
  rbd_taking_t * taking = state;
  return add_block(taking, size) ? rbd_block_data(taking->tail) : NULL;
}

static void * take_reallocate(void * pointer, size_t size, void * state)
{
  (void)pointer; // lies in an earlier block, holds nothing yet
  return take_allocate(size, state);
}

static void * take_zero_allocate(size_t count, size_t size, void * state)
{
  if (size && count > SIZE_MAX / size) {
    return NULL;
  }
  void * memory = take_allocate(count * size, state);
  return memory ? memset(memory, 0, count * size) : NULL;
}

static void take_deallocate(void * pointer, void * state)
{
  (void)pointer; // blocks are freed with the batch
  (void)state;
}

static bool reserve_header(rbd_plane_t * plane, size_t count)
{
  if (count < plane->messages_capacity) {
    return true;
  }
  size_t capacity = plane->messages_capacity ? plane->messages_capacity * 2 : 256;
  rbd_message_t * grown = realloc(plane->messages, capacity * sizeof *grown);
  if (!grown) {
    return false;
  }
  plane->messages = grown;
  plane->messages_capacity = capacity;
  return true;
}

typedef enum rbd_take_one { TOOK, TOOK_NOTHING, TAKE_FAILED } rbd_take_one_t;

static rbd_take_one_t take_one(
  rbd_plane_t * plane, rbd_subscription_t * subscription, rbd_taking_t * taking, char * error)
{
  if (!reserve_header(plane, taking->count)) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return TAKE_FAILED;
  }
  if ((!taking->tail || taking->tail->used == taking->tail->capacity) && !add_block(taking, 1)) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return TAKE_FAILED;
  }
  rcl_serialized_message_t buffer = {
    .buffer = rbd_block_data(taking->tail) + taking->tail->used,
    .buffer_length = 0,
    .buffer_capacity = taking->tail->capacity - taking->tail->used,
    .allocator = {take_allocate, take_deallocate, take_reallocate, take_zero_allocate, taking}};
  rmw_message_info_t info = rmw_get_zero_initialized_message_info();
  info.publication_sequence_number = RBD_NO_SEQUENCE; // some middlewares leave it as it is
  rcl_ret_t result = rcl_take_serialized_message(&subscription->handle, &buffer, &info, NULL);
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    rcl_reset_error();
    return TOOK_NOTHING;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("take message", error);
    return TAKE_FAILED;
  }
  rbd_message_t * message = &plane->messages[taking->count++];
  message->data = buffer.buffer;
  message->size = buffer.buffer_length;
  message->received = info.received_timestamp;
  message->source = info.source_timestamp;
  message->sequence = info.publication_sequence_number;
  message->subscription = subscription->id;
  memcpy(message->gid, info.publisher_gid.data, RBD_GID_SIZE);
  // Payloads start at multiples of eight, the alignment of CDR.
  size_t end = (size_t)(buffer.buffer - rbd_block_data(taking->tail)) + buffer.buffer_length;
  end = (end + 7) & ~(size_t)7;
  taking->tail->used = end < taking->tail->capacity ? end : taking->tail->capacity;
  return TOOK;
}

int rbd_take_all(rbd_plane_t * plane, rbd_subscription_t * subscription, rbd_taking_t * taking, char * error)
{
  atomic_store(&subscription->waiting, 0);
  size_t before = taking->count;
  rbd_take_one_t one = TOOK;
  while (one == TOOK) {
    if (taking->bytes >= BATCH_BYTES_MAX) {
      atomic_store(&subscription->ready, true);
      plane->more = true;
      break;
    }
    one = take_one(plane, subscription, taking, error);
  }
  double fill = (double)(taking->count - before) / (double)subscription->depth;
  if (fill > taking->fill) {
    taking->fill = fill;
  }
  return one == TAKE_FAILED;
}

int rbd_add_loss(rbd_loss_t ** list, size_t * count, size_t * capacity, rbd_loss_t loss)
{
  if (*count == *capacity) {
    size_t larger = *capacity ? *capacity * 2 : 16;
    rbd_loss_t * grown = realloc(*list, larger * sizeof *grown);
    if (!grown) {
      return 1;
    }
    *list = grown;
    *capacity = larger;
  }
  (*list)[(*count)++] = loss;
  return 0;
}

int rbd_take_losses(
  rbd_subscription_t * subscription, rbd_loss_t ** list, size_t * count, size_t * capacity, char * error)
{
  rmw_message_lost_status_t status = {0};
  rcl_ret_t result = rcl_take_event(&subscription->lost, &status);
  if (result == RCL_RET_EVENT_TAKE_FAILED) {
    rcl_reset_error();
    return 0;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("take lost messages", error);
    return 1;
  }
  if (status.total_count_change == 0) {
    return 0;
  }
  rbd_loss_t loss = {.subscription = subscription->id, .count = status.total_count_change};
  if (rbd_add_loss(list, count, capacity, loss) != 0) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  return 0;
}
