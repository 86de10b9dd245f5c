//go:build ros

// The plane: waits, lets messages gather, and looks at its subscriptions.

#include "dataplane.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rcl/error_handling.h>

#include "eventfd.h"
#include "plane.h"

// How long messages may gather before they are taken. The interval is chosen so that at the rate of the last one the
// fullest history is filled to FILL_WANTED at the next taking, and one batch has BATCH_BYTES_WANTED at most.
#define INTERVAL_START_NS 5000000
#define INTERVAL_MIN_NS 500000
#define INTERVAL_MAX_NS 20000000
#define FILL_WANTED 0.125
#define BATCH_BYTES_WANTED (16u << 20)
// How often to look where the middleware calls nobody and stamps messages when they are taken.
#define POLL_NS 1000000

void rbd_take_error(const char * what, char * error)
{
  snprintf(error, RBD_ERROR_SIZE, "%s: %s", what, rcl_get_error_string().str);
  rcl_reset_error();
}

int rbd_plane_create(const rbd_plane_options_t * options, rbd_plane_t ** out, char * error)
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
  plane->never_called = options->never_called;
  atomic_store(&plane->take_on_wake, options->take_on_wake != 0);
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
  free(plane->losses);
  free(plane->missed);
  free(plane);
}

void rbd_wake(rbd_plane_t * plane)
{
  atomic_store(&plane->wake, true);
  rbd_eventfd_signal(plane->event);
}

void rbd_take_on_wake(rbd_plane_t * plane)
{
  atomic_store(&plane->take_on_wake, true);
}

int rbd_gathers(const rbd_plane_t * plane)
{
  return !atomic_load(&plane->take_on_wake);
}

static int64_t now(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Waits for the eventfd and takes its count, for timeout nanoseconds at most (negative: for as long as it takes).
static int wait_event(const rbd_plane_t * plane, int64_t timeout, bool * signalled, char * error)
{
  struct pollfd event = {.fd = plane->event, .events = POLLIN};
  struct timespec limit = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
  int ready = ppoll(&event, 1, timeout < 0 ? NULL : &limit, NULL);
  if (ready < 0 && errno != EINTR) {
    snprintf(error, RBD_ERROR_SIZE, "wait for messages: %s", strerror(errno));
    return 1;
  }
  *signalled = ready > 0;
  if (*signalled) {
    uint64_t counter;
    ssize_t ignored = read(plane->event, &counter, sizeof counter); // there is one: nobody else reads
    (void)ignored;
  }
  return 0;
}

// Waits for a whole interval. What is signalled meanwhile gathers too, but for a wake-up and a history that fills too fast.
static int wait_interval(const rbd_plane_t * plane, char * error)
{
  int64_t end = now(CLOCK_MONOTONIC) + plane->interval;
  for (;;) {
    int64_t left = end - now(CLOCK_MONOTONIC);
    if (left <= 0 || atomic_load(&plane->wake) || atomic_load(&plane->urgent)) {
      return 0;
    }
    bool signalled;
    if (wait_event(plane, left, &signalled, error) != 0) {
      return 1;
    }
  }
}

// Waits until there may be something to take. Tells when the first of it may have arrived, by the steady clock.
static int wait_and_gather(rbd_plane_t * plane, int64_t * since, char * error)
{
  bool polled = atomic_load(&plane->polled) > 0;
  bool on_wake = atomic_load(&plane->take_on_wake);
  bool signalled;
  *since = now(CLOCK_MONOTONIC);
  if (polled && !on_wake) {
    return wait_interval(plane, error);
  }
  if (wait_event(plane, polled ? POLL_NS : -1, &signalled, error) != 0) {
    return 1;
  }
  if (on_wake) {
    return 0;
  }
  *since = now(CLOCK_MONOTONIC);
  return wait_interval(plane, error);
}

// Takes from every subscription that is ready. Returns nonzero when one could not be read.
static int take_ready(rbd_plane_t * plane, rbd_taking_t * taking, char * error)
{
  int failed = 0;
  pthread_mutex_lock(&plane->mutex);
  for (size_t i = plane->count; i-- > 0;) {
    rbd_subscription_t * subscription = plane->subscriptions[i];
    if (atomic_exchange(&subscription->ready, false) || subscription->polled || subscription->hot) {
      size_t before = taking->count;
      failed |= rbd_take_all(plane, subscription, taking, error);
      rbd_follow_rate(subscription, taking->count - before);
    }
    // After the messages: a gap in their numbers is never known before the loss that explains it.
    if (subscription->counts_losses && atomic_exchange(&subscription->loss_ready, false)) {
      failed |= rbd_take_losses(subscription, &plane->losses, &taking->losses, &plane->losses_capacity, error);
    }
  }
  for (size_t i = 0; i < plane->missed_count; i++) {
    failed |= rbd_add_loss(&plane->losses, &taking->losses, &plane->losses_capacity, plane->missed[i]);
  }
  plane->missed_count = 0;
  pthread_mutex_unlock(&plane->mutex);
  return failed;
}

// Sees what came in the last window and expects the same of the next one. A burst shortens the interval at once, quiet
// lets it grow step by step.
static void adapt_interval(rbd_plane_t * plane, const rbd_taking_t * taking, int64_t window)
{
  double longest = INTERVAL_MAX_NS;
  if (taking->fill > 0) {
    double limit = (double)window * FILL_WANTED / taking->fill;
    longest = limit < longest ? limit : longest;
  }
  if (taking->bytes > 0) {
    double limit = (double)window * BATCH_BYTES_WANTED / (double)taking->bytes;
    longest = limit < longest ? limit : longest;
  }
  int64_t next = plane->interval + plane->interval / 8;
  if (longest < (double)next) {
    next = (int64_t)longest;
  }
  plane->interval = next < INTERVAL_MIN_NS ? INTERVAL_MIN_NS : next;
}

int rbd_take(rbd_plane_t * plane, rbd_batch_t * batch, char * error)
{
  memset(batch, 0, sizeof *batch);
  int64_t since = plane->drained;
  if (!plane->more && wait_and_gather(plane, &since, error) != 0) {
    return 1;
  }
  plane->more = false;
  atomic_store(&plane->wake, false);
  // Before the flags of the subscriptions are read: what arrives from now on signals again.
  atomic_store(&plane->urgent, false);
  atomic_store(&plane->pending, false);

  rbd_taking_t taking = {0};
  batch->began = now(CLOCK_REALTIME);
  int failed = take_ready(plane, &taking, error);
  plane->drained = now(CLOCK_MONOTONIC);
  adapt_interval(plane, &taking, plane->drained - since);
  batch->losses = plane->losses;
  batch->loss_count = taking.losses;
  if (taking.count == 0) {
    rbd_release(taking.head);
    return failed;
  }
  batch->messages = plane->messages;
  batch->count = taking.count;
  batch->blocks = taking.head;
  batch->bytes = taking.bytes;
  return failed;
}
