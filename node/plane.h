//go:build ros

// What the parts of the data plane know of each other: plane, subscriptions, and the batch in the making.
#ifndef ROSBAGD_PLANE_H
#define ROSBAGD_PLANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <rcl/event.h>
#include <rcl/subscription.h>

#include "blocks.h"
#include "dataplane.h"

struct rbd_subscription {
  rcl_subscription_t handle;
  rcl_node_t * node; // borrowed
  rbd_plane_t * plane;
  uint32_t id;
  size_t depth;
  bool polled;        // the middleware calls nobody for a new message: look at each interval
  bool hot;           // messages come so often that looking at each interval costs less than being called for each
  int busy;           // how sure it is that they do, from 0 to a limit
  bool counts_losses; // lost is valid
  rcl_event_t lost;   // owned
  // Set by the middleware's threads, cleared before taking.
  atomic_bool ready;
  atomic_bool loss_ready;
  atomic_size_t waiting; // messages told of since the last taking
};

struct rbd_plane {
  int event; // eventfd: something is ready, or somebody wants rbd_take to return
  atomic_bool pending;
  atomic_bool wake;
  atomic_bool urgent; // a history fills faster than expected: do not wait for the interval
  atomic_bool take_on_wake;
  bool never_called;      // of rbd_plane_options_t
  atomic_size_t polled;   // subscriptions that must be looked at
  pthread_mutex_t mutex;  // guards subscriptions, count, capacity and missed; held while taking
  rbd_subscription_t ** subscriptions;
  size_t count, capacity;
  // Losses of subscriptions that have ended since the last taking.
  rbd_loss_t * missed;
  size_t missed_count, missed_capacity;
  // Owned by the thread inside rbd_take.
  rbd_message_t * messages;
  size_t messages_capacity;
  rbd_loss_t * losses;
  size_t losses_capacity;
  int64_t interval;
  int64_t drained; // steady time of the last taking
  bool more;       // the last batch was full
};

// What one look at all subscriptions has found so far.
typedef struct rbd_taking {
  rbd_block_t * head; // owned by the batch in the making
  rbd_block_t * tail;
  size_t bytes;  // memory of the blocks
  size_t count;  // messages of the plane that are filled
  size_t losses; // losses of the plane that are filled
  double fill;   // the largest share of a history that was filled
} rbd_taking_t;

// Takes what the subscription has until it is empty, or the batch is full (then plane->more is set). Needs the mutex.
int rbd_take_all(rbd_plane_t * plane, rbd_subscription_t * subscription, rbd_taking_t * taking, char * error);
// Chooses between being called for new messages and looking for them, by how many the last taking had. Needs the mutex.
void rbd_follow_rate(rbd_subscription_t * subscription, size_t taken);
// Moves what the subscription has lost in transport since the last call to *list. Needs the mutex.
int rbd_take_losses(
  rbd_subscription_t * subscription, rbd_loss_t ** list, size_t * count, size_t * capacity, char * error);
// Appends to a list that grows; nonzero when there is no memory.
int rbd_add_loss(rbd_loss_t ** list, size_t * count, size_t * capacity, rbd_loss_t loss);

#endif
