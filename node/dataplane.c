//go:build ros

#include "dataplane.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rcl/error_handling.h>
#include <rcl/subscription.h>

#include "blocks.h"

// How long messages may gather before they are taken. The interval follows the fullest history: a burst halves it,
// quiet lets it grow again.
#define INTERVAL_START_NS 5000000
#define INTERVAL_MIN_NS 500000
#define INTERVAL_MAX_NS 20000000
// More than this in one batch halves the interval too: large messages should not pile up in the middleware.
#define BATCH_BYTES_HIGH (16u << 20)
// One batch ends here; the rest is taken at once by the next call. Bounds the memory of a batch.
#define BATCH_BYTES_MAX (64u << 20)

struct rbd_subscription {
  rcl_subscription_t handle;
  rcl_node_t * node; // borrowed
  rbd_plane_t * plane;
  uint32_t id;
  size_t depth;
  atomic_bool ready; // set by the middleware's thread, cleared before taking
};

struct rbd_plane {
  int event; // eventfd: something is ready, or somebody wants rbd_take to return
  atomic_bool pending;
  atomic_bool wake;
  pthread_mutex_t mutex; // guards subscriptions, count, capacity; held while taking
  rbd_subscription_t ** subscriptions;
  size_t count, capacity;
  // Owned by the thread inside rbd_take.
  rbd_message_t * messages;
  size_t messages_capacity;
  int64_t interval;
  bool more; // the last batch was full
};

void rbd_take_error(const char * what, char * error)
{
  snprintf(error, RBD_ERROR_SIZE, "%s: %s", what, rcl_get_error_string().str);
  rcl_reset_error();
}

static void signal_event(rbd_plane_t * plane)
{
  uint64_t one = 1;
  // Fails only when the counter is full, and then the reader wakes up anyway.
  ssize_t ignored = write(plane->event, &one, sizeof one);
  (void)ignored;
}

// Runs on a thread of the middleware, which may hold locks of its own: nothing but a flag and an eventfd here.
static void on_new_message(const void * user_data, size_t count)
{
  (void)count;
  rbd_subscription_t * subscription = (rbd_subscription_t *)user_data;
  atomic_store(&subscription->ready, true);
  if (!atomic_exchange(&subscription->plane->pending, true)) {
    signal_event(subscription->plane);
  }
}

int rbd_plane_create(rbd_plane_t ** out, char * error)
{
  rbd_plane_t * plane = calloc(1, sizeof *plane);
  if (!plane) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  plane->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (plane->event < 0) {
    snprintf(error, RBD_ERROR_SIZE, "create eventfd: %s", strerror(errno));
    free(plane);
    return 1;
  }
  pthread_mutex_init(&plane->mutex, NULL);
  plane->interval = INTERVAL_START_NS;
  *out = plane;
  return 0;
}

void rbd_plane_destroy(rbd_plane_t * plane)
{
  char error[RBD_ERROR_SIZE];
  while (plane->count > 0) {
    rbd_unsubscribe(plane, plane->subscriptions[plane->count - 1], error);
  }
  close(plane->event);
  pthread_mutex_destroy(&plane->mutex);
  free(plane->subscriptions);
  free(plane->messages);
  free(plane);
}

int rbd_subscribe(
  rbd_plane_t * plane, rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, uint32_t id, rbd_subscription_t ** out, char * error)
{
  rbd_subscription_t * subscription = calloc(1, sizeof *subscription);
  if (!subscription) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    return 1;
  }
  subscription->handle = rcl_get_zero_initialized_subscription();
  subscription->node = node;
  subscription->plane = plane;
  subscription->id = id;
  subscription->depth = qos->depth > 0 ? qos->depth : 1;

  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos = *qos;
  if (rcl_subscription_init(&subscription->handle, node, type_support, topic, &options) != RCL_RET_OK) {
    rbd_take_error("create subscription", error);
    free(subscription);
    return 1;
  }

  pthread_mutex_lock(&plane->mutex);
  if (plane->count == plane->capacity) {
    size_t capacity = plane->capacity ? plane->capacity * 2 : 16;
    rbd_subscription_t ** grown = realloc(plane->subscriptions, capacity * sizeof(*grown));
    if (!grown) {
      pthread_mutex_unlock(&plane->mutex);
      snprintf(error, RBD_ERROR_SIZE, "out of memory");
      if (rcl_subscription_fini(&subscription->handle, node) != RCL_RET_OK) {
        rcl_reset_error();
      }
      free(subscription);
      return 1;
    }
    plane->subscriptions = grown;
    plane->capacity = capacity;
  }
  plane->subscriptions[plane->count++] = subscription;
  pthread_mutex_unlock(&plane->mutex);

  // Latched data may be there before the callback is: look once in any case.
  if (rcl_subscription_set_on_new_message_callback(&subscription->handle, on_new_message, subscription) != RCL_RET_OK) {
    rbd_take_error("watch subscription", error);
    char ignored[RBD_ERROR_SIZE];
    rbd_unsubscribe(plane, subscription, ignored);
    return 1;
  }
  on_new_message(subscription, 1);
  *out = subscription;
  return 0;
}

int rbd_unsubscribe(rbd_plane_t * plane, rbd_subscription_t * subscription, char * error)
{
  // Outside the lock: the middleware may be inside the callback, which takes no lock of ours.
  if (rcl_subscription_set_on_new_message_callback(&subscription->handle, NULL, NULL) != RCL_RET_OK) {
    rcl_reset_error();
  }
  pthread_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->count; i++) {
    if (plane->subscriptions[i] == subscription) {
      // Keep the order: sweeping in order of creation is part of what makes a batch nearly sorted.
      memmove(
        &plane->subscriptions[i], &plane->subscriptions[i + 1],
        (plane->count - i - 1) * sizeof(*plane->subscriptions));
      plane->count--;
      break;
    }
  }
  int failed = rcl_subscription_fini(&subscription->handle, subscription->node) != RCL_RET_OK;
  if (failed) {
    rbd_take_error("destroy subscription", error);
  }
  pthread_mutex_unlock(&plane->mutex);
  free(subscription);
  return failed;
}

void rbd_wake(rbd_plane_t * plane)
{
  atomic_store(&plane->wake, true);
  signal_event(plane);
}

static void sleep_ns(int64_t ns)
{
  struct timespec remaining = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  while (nanosleep(&remaining, &remaining) != 0 && errno == EINTR) {
  }
}

// The middleware asks for a larger buffer through the allocator of the serialized message. Handing it a block of ours
// is what makes the copy out of the middleware the only one.
typedef struct rbd_taking {
  rbd_block_t * head; // owned by the batch in the making
  rbd_block_t * tail;
  size_t bytes;
} rbd_taking_t;

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
  rbd_plane_t * plane, rbd_subscription_t * subscription, rbd_taking_t * taking, size_t index, char * error)
{
  if (!reserve_header(plane, index)) {
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
  rcl_ret_t result = rcl_take_serialized_message(&subscription->handle, &buffer, &info, NULL);
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    rcl_reset_error();
    return TOOK_NOTHING;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("take message", error);
    return TAKE_FAILED;
  }
  rbd_message_t * message = &plane->messages[index];
  message->data = buffer.buffer;
  message->size = buffer.buffer_length;
  message->received = info.received_timestamp;
  message->source = info.source_timestamp;
  message->sequence = info.publication_sequence_number; // RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED is UINT64_MAX
  message->subscription = subscription->id;
  memcpy(message->gid, info.publisher_gid.data, RBD_GID_SIZE);
  // Payloads start at multiples of eight, the alignment of CDR.
  size_t end = (size_t)(buffer.buffer - rbd_block_data(taking->tail)) + buffer.buffer_length;
  end = (end + 7) & ~(size_t)7;
  taking->tail->used = end < taking->tail->capacity ? end : taking->tail->capacity;
  return TOOK;
}

// Takes from every subscription that is ready. Returns nonzero when one could not be read.
static int take_ready(rbd_plane_t * plane, rbd_taking_t * taking, size_t * count, bool * busy, char * error)
{
  int failed = 0;
  *busy = false;
  pthread_mutex_lock(&plane->mutex);
  for (size_t i = 0; i < plane->count; i++) {
    rbd_subscription_t * subscription = plane->subscriptions[i];
    if (!atomic_exchange(&subscription->ready, false)) {
      continue;
    }
    size_t before = *count;
    for (;;) {
      if (taking->bytes >= BATCH_BYTES_MAX) {
        atomic_store(&subscription->ready, true);
        plane->more = true;
        break;
      }
      rbd_take_one_t one = take_one(plane, subscription, taking, *count, error);
      if (one == TOOK) {
        (*count)++;
        continue;
      }
      if (one == TAKE_FAILED) {
        failed = 1;
      }
      break;
    }
    if ((*count - before) * 8 > subscription->depth) {
      *busy = true;
    }
  }
  pthread_mutex_unlock(&plane->mutex);
  return failed;
}

static void adapt_interval(rbd_plane_t * plane, bool busy, size_t bytes)
{
  if (busy || bytes > BATCH_BYTES_HIGH) {
    plane->interval /= 2;
    if (plane->interval < INTERVAL_MIN_NS) {
      plane->interval = INTERVAL_MIN_NS;
    }
  } else {
    plane->interval += plane->interval / 16;
    if (plane->interval > INTERVAL_MAX_NS) {
      plane->interval = INTERVAL_MAX_NS;
    }
  }
}

int rbd_take(rbd_plane_t * plane, rbd_batch_t * batch, char * error)
{
  memset(batch, 0, sizeof *batch);
  if (!plane->more) {
    struct pollfd event = {.fd = plane->event, .events = POLLIN};
    while (poll(&event, 1, -1) < 0) {
      if (errno != EINTR) {
        snprintf(error, RBD_ERROR_SIZE, "wait for messages: %s", strerror(errno));
        return 1;
      }
    }
    if (!atomic_load(&plane->wake)) {
      sleep_ns(plane->interval);
    }
  }
  uint64_t counter;
  ssize_t ignored = read(plane->event, &counter, sizeof counter); // EAGAIN when only `more` brought us here
  (void)ignored;
  atomic_store(&plane->wake, false);
  plane->more = false;
  // Before the flags of the subscriptions are read: what arrives from now on signals again.
  atomic_store(&plane->pending, false);

  rbd_taking_t taking = {0};
  size_t count = 0;
  bool busy;
  int failed = take_ready(plane, &taking, &count, &busy, error);
  adapt_interval(plane, busy, taking.bytes);
  if (count == 0) {
    rbd_release(taking.head);
    return failed;
  }
  batch->messages = plane->messages;
  batch->count = count;
  batch->blocks = taking.head;
  batch->bytes = taking.bytes;
  return failed;
}
