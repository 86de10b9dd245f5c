//go:build ros

// Subscriptions of the plane: made, watched for messages and losses, ended.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rcl/error_handling.h>

#include "eventfd.h"
#include "plane.h"

// A history that is filled to this part before its time makes the plane take at once.
#define URGENT_PART 4
// A subscription that gives several messages in each of BUSY_LIMIT takings, or BURST in one, is looked at instead of being
// called for: rmw_fastrtps counts what waits, again for each new message, before it calls. An empty one loses
// BUSY_LOSS of that, and is called for again when nothing is left.
#define BUSY_LIMIT 32
#define BUSY_LOSS 4
#define BURST 64

// Runs on a thread of the middleware, which may hold locks of its own: nothing but flags and an eventfd here.
static void on_new_message(const void * user_data, size_t count)
{
  rbd_subscription_t * subscription = (rbd_subscription_t *)user_data;
  rbd_plane_t * plane = subscription->plane;
  size_t before = atomic_fetch_add(&subscription->waiting, count);
  atomic_store(&subscription->ready, true);
  if (!atomic_exchange(&plane->pending, true)) {
    rbd_eventfd_signal(plane->event);
  }
  size_t urgent = subscription->depth > URGENT_PART ? subscription->depth / URGENT_PART : 1;
  if (before < urgent && before + count >= urgent && !atomic_exchange(&plane->urgent, true)) {
    rbd_eventfd_signal(plane->event);
  }
}

// As on_new_message.
static void on_loss(const void * user_data, size_t count)
{
  (void)count; // the event itself tells it again
  rbd_subscription_t * subscription = (rbd_subscription_t *)user_data;
  atomic_store(&subscription->loss_ready, true);
  if (!atomic_exchange(&subscription->plane->pending, true)) {
    rbd_eventfd_signal(subscription->plane->event);
  }
}

// Where the middleware does not count what was lost in transport, there is nothing to watch, which is no error.
static int watch_losses(rbd_subscription_t * subscription, char * error)
{
  subscription->lost = rcl_get_zero_initialized_event();
  rcl_ret_t result =
    rcl_subscription_event_init(&subscription->lost, &subscription->handle, RCL_SUBSCRIPTION_MESSAGE_LOST);
  if (result == RCL_RET_UNSUPPORTED) {
    rcl_reset_error();
    return 0;
  }
  if (result != RCL_RET_OK) {
    rbd_take_error("watch for lost messages", error);
    return 1;
  }
  result = rcl_event_set_callback(&subscription->lost, on_loss, subscription);
  if (result == RCL_RET_OK) {
    subscription->counts_losses = true;
    return 0;
  }
  if (result == RCL_RET_UNSUPPORTED) {
    rcl_reset_error();
  } else {
    rbd_take_error("watch for lost messages", error);
  }
  if (rcl_event_fini(&subscription->lost) != RCL_RET_OK) {
    rcl_reset_error();
  }
  return result != RCL_RET_UNSUPPORTED;
}

static int watch_messages(rbd_subscription_t * subscription, char * error)
{
  rbd_plane_t * plane = subscription->plane;
  rcl_ret_t result = RCL_RET_UNSUPPORTED;
  if (!plane->never_called) {
    result = rcl_subscription_set_on_new_message_callback(&subscription->handle, on_new_message, subscription);
  }
  if (result == RCL_RET_UNSUPPORTED) {
    rcl_reset_error();
    subscription->polled = true;
    atomic_fetch_add(&plane->polled, 1);
  } else if (result != RCL_RET_OK) {
    rbd_take_error("watch subscription", error);
    return 1;
  }
  return 0;
}

static void rate(rbd_subscription_t * subscription, size_t taken)
{
  int busy = subscription->busy;
  if (taken == 0) {
    busy = busy > BUSY_LOSS ? busy - BUSY_LOSS : 0;
  } else if (taken >= BURST) {
    busy = BUSY_LIMIT;
  } else if (taken > 1 && busy < BUSY_LIMIT) {
    busy++;
  }
  subscription->busy = busy;
}

void rbd_follow_rate(rbd_subscription_t * subscription, size_t taken)
{
  rbd_plane_t * plane = subscription->plane;
  if (subscription->polled) {
    return;
  }
  rate(subscription, taken);
  if (!subscription->hot && subscription->busy == BUSY_LIMIT) {
    if (rcl_subscription_set_on_new_message_callback(&subscription->handle, NULL, NULL) != RCL_RET_OK) {
      rcl_reset_error();
      return;
    }
    subscription->hot = true;
    atomic_fetch_add(&plane->polled, 1);
  } else if (subscription->hot && subscription->busy == 0) {
    if (
      rcl_subscription_set_on_new_message_callback(&subscription->handle, on_new_message, subscription) != RCL_RET_OK) {
      rcl_reset_error();
      return;
    }
    subscription->hot = false;
    atomic_fetch_sub(&plane->polled, 1);
    on_new_message(subscription, 0); // what came since the taking
  }
}

static int enter(rbd_plane_t * plane, rbd_subscription_t * subscription)
{
  int failed = 0;
  pthread_mutex_lock(&plane->mutex);
  if (plane->count == plane->capacity) {
    size_t capacity = plane->capacity ? plane->capacity * 2 : 16;
    rbd_subscription_t ** grown = realloc(plane->subscriptions, capacity * sizeof(*grown));
    if (grown) {
      plane->subscriptions = grown;
      plane->capacity = capacity;
    } else {
      failed = 1;
    }
  }
  if (!failed) {
    plane->subscriptions[plane->count++] = subscription;
  }
  pthread_mutex_unlock(&plane->mutex);
  return failed;
}

int rbd_subscribe(
  rbd_plane_t * plane, rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, uint32_t id, rbd_subscription_t ** out, rbd_watched_t * watched, char * error)
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
  char ignored[RBD_ERROR_SIZE];
  if (watch_losses(subscription, error) != 0 || watch_messages(subscription, error) != 0) {
    rbd_unsubscribe(plane, subscription, ignored);
    return 1;
  }
  // Only now: the thread inside rbd_take reads what was set until here without more than the mutex of the plane.
  if (enter(plane, subscription) != 0) {
    snprintf(error, RBD_ERROR_SIZE, "out of memory");
    rbd_unsubscribe(plane, subscription, ignored);
    return 1;
  }
  // Latched data may be there before the callback was, and what called before rbd_take knew of it was passed over.
  on_new_message(subscription, 0);
  watched->losses = subscription->counts_losses;
  watched->polled = subscription->polled;
  *out = subscription;
  return 0;
}

// Stops the middleware from calling us. The callbacks take no lock of ours, so that this needs none either.
static void unwatch(rbd_subscription_t * subscription)
{
  if (
    !subscription->polled &&
    rcl_subscription_set_on_new_message_callback(&subscription->handle, NULL, NULL) != RCL_RET_OK) {
    rcl_reset_error();
  }
  if (subscription->counts_losses && rcl_event_set_callback(&subscription->lost, NULL, NULL) != RCL_RET_OK) {
    rcl_reset_error();
  }
}

// Does nothing where it never entered.
static void leave(rbd_plane_t * plane, const rbd_subscription_t * subscription)
{
  for (size_t i = 0; i < plane->count; i++) {
    if (plane->subscriptions[i] == subscription) {
      memmove(
        &plane->subscriptions[i], &plane->subscriptions[i + 1],
        (plane->count - i - 1) * sizeof(*plane->subscriptions));
      plane->count--;
      return;
    }
  }
}

int rbd_unsubscribe(rbd_plane_t * plane, rbd_subscription_t * subscription, char * error)
{
  unwatch(subscription);
  pthread_mutex_lock(&plane->mutex);
  leave(plane, subscription);
  if (subscription->polled || subscription->hot) {
    atomic_fetch_sub(&plane->polled, 1);
  }
  if (subscription->counts_losses) {
    char ignored[RBD_ERROR_SIZE];
    rbd_take_losses(subscription, &plane->missed, &plane->missed_count, &plane->missed_capacity, ignored);
  }
  pthread_mutex_unlock(&plane->mutex);
  // Nobody takes from it any more. The middleware may need seconds for its end, in which others must be taken from.
  if (subscription->counts_losses && rcl_event_fini(&subscription->lost) != RCL_RET_OK) {
    rcl_reset_error();
  }
  int failed = rcl_subscription_fini(&subscription->handle, subscription->node) != RCL_RET_OK;
  if (failed) {
    rbd_take_error("destroy subscription", error);
  }
  free(subscription);
  return failed;
}
