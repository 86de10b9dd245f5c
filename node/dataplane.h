//go:build ros

// The data plane: serialized traffic on an rcl node that somebody else owns (rclgo).
//
// Owners. A plane owns its subscriptions, its header array and its pool of blocks; the caller owns the plane. A batch
// owns its blocks: they belong to the caller from rbd_take until rbd_release. A publisher belongs to the caller.
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
  uint64_t sequence; // UINT64_MAX where the middleware numbers nothing
  uint32_t subscription;
  uint8_t gid[RBD_GID_SIZE];
} rbd_message_t;

// What one rbd_take found. messages belongs to the plane and is valid until the next rbd_take.
typedef struct rbd_batch {
  const rbd_message_t * messages;
  size_t count;
  rbd_block_t * blocks; // owned by the caller, give it to rbd_release
  size_t bytes;         // memory of the blocks
} rbd_batch_t;

int rbd_plane_create(rbd_plane_t ** plane, char * error);
// Destroys the remaining subscriptions, then the plane. No rbd_take may be under way. Batches outlive it.
void rbd_plane_destroy(rbd_plane_t * plane);

int rbd_subscribe(
  rbd_plane_t * plane, rcl_node_t * node, const rosidl_message_type_support_t * type_support, const char * topic,
  const rmw_qos_profile_t * qos, uint32_t id, rbd_subscription_t ** subscription, char * error);
// What the subscription had received and nobody had taken is gone with it.
int rbd_unsubscribe(rbd_plane_t * plane, rbd_subscription_t * subscription, char * error);

// Waits until there is something to take, lets more gather, takes all there is. A wake-up returns an empty batch.
int rbd_take(rbd_plane_t * plane, rbd_batch_t * batch, char * error);
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
