//go:build ros

// The data plane: serialized traffic on an rcl node that somebody else owns (rclgo).
//
// Owners. A plane owns its subscriptions and its arrays of headers and losses; the caller owns the plane. A batch owns
// its blocks: they belong to the caller from rbd_take until rbd_release. A publisher belongs to the caller.
// Pointers to nodes, contexts and type supports are borrowed: they must outlive what was made with them.
//
// Threads. rbd_take belongs to one thread. Everything else may be called from any thread at any time, also while
// another one is inside rbd_take.
//
// Errors are texts in a buffer of the caller (RBD_ERROR_SIZE bytes); functions return 0 on success.
#ifndef ROSBAGD_DATAPLANE_H
#define ROSBAGD_DATAPLANE_H

#include <stddef.h>
#include <stdint.h>

#include <rcl/rcl.h>

#define RBD_ERROR_SIZE 1280 // rcl texts have up to 1024 bytes
#define RBD_GID_SIZE 16
#define RBD_NO_SEQUENCE UINT64_MAX // the middleware numbers nothing

typedef struct rbd_plane rbd_plane_t;
typedef struct rbd_subscription rbd_subscription_t;
typedef struct rbd_publisher rbd_publisher_t;
typedef struct rbd_block rbd_block_t;

// One taken message. data points into a block of the batch.
typedef struct rbd_message {
  uint8_t * data;
  size_t size;
  int64_t received;  // ns since the epoch; 0 where the middleware stamps nothing
  int64_t source;    // ns since the epoch; 0 where the sender stamps nothing
  uint64_t sequence; // or RBD_NO_SEQUENCE
  uint32_t subscription;
  uint8_t gid[RBD_GID_SIZE];
} rbd_message_t;

// Messages that a subscription did not get because they were lost on the way, or overwritten by their publisher before.
typedef struct rbd_loss {
  uint32_t subscription;
  uint64_t count; // since the last one of this subscription
} rbd_loss_t;

// What one rbd_take found. messages and losses belong to the plane and are valid until the next rbd_take.
typedef struct rbd_batch {
  const rbd_message_t * messages;
  size_t count;
  const rbd_loss_t * losses;
  size_t loss_count;
  rbd_block_t * blocks; // owned by the caller, give it to rbd_release
  size_t bytes;         // memory of the blocks
  int64_t began;        // ns since the epoch, when taking began: what arrived by then has an earlier time of arrival
} rbd_batch_t;

// How the middleware at hand wants to be treated.
typedef struct rbd_plane_options {
  int take_on_wake; // it stamps messages when they are taken: let none gather
  int never_called; // it calls nobody for a new message: look at intervals
} rbd_plane_options_t;

// What the middleware does for one subscription.
typedef struct rbd_watched {
  int losses; // it counts what is lost in transport
  int polled; // it calls nobody for a new message
} rbd_watched_t;

int rbd_plane_create(const rbd_plane_options_t * options, rbd_plane_t ** plane, char * error);
// Destroys the remaining subscriptions, then the plane. No rbd_take may be under way. Batches outlive it.
void rbd_plane_destroy(rbd_plane_t * plane);

int rbd_subscribe(
  rbd_plane_t * plane, rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, uint32_t id, rbd_subscription_t ** subscription, rbd_watched_t * watched, char * error);
// What the subscription had received and nobody had taken is gone with it.
int rbd_unsubscribe(rbd_plane_t * plane, rbd_subscription_t * subscription, char * error);

// Waits until there is something to take, lets more gather, takes all there is. A wake-up returns an empty batch. The
// subscription that was made first is taken last: of what it has, everything that arrived before a message of the others
// is in the same batch or an earlier one.
int rbd_take(rbd_plane_t * plane, rbd_batch_t * batch, char * error);
// From now on no messages gather before they are taken.
void rbd_take_on_wake(rbd_plane_t * plane);
int rbd_gathers(const rbd_plane_t * plane);
void rbd_wake(rbd_plane_t * plane);
void rbd_release(rbd_block_t * blocks);

int rbd_publisher_create(
  rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, rbd_publisher_t ** publisher, char * error);
// data is only read, and only until the call returns.
int rbd_publish(rbd_publisher_t * publisher, const uint8_t * data, size_t size, char * error);
int rbd_publisher_subscriptions(const rbd_publisher_t * publisher, size_t * count, char * error);
// Waits until all matched reliable subscriptions have what was published, for timeout nanoseconds at most.
int rbd_publisher_wait_acked(rbd_publisher_t * publisher, int64_t timeout, int * acked, char * error);
int rbd_publisher_destroy(rbd_publisher_t * publisher, char * error);

// Moves the text of the last rcl error of this thread into error and clears it.
void rbd_take_error(const char * what, char * error);

#endif
