// Package recorder records topics of a running ROS graph into bags: discovery, filters, subscriptions that fit their
// publishers, the cache between taking and writing, loss counts and services.
//
// The invariant: no message is lost silently. Each message a subscription should have got is either written, or counted
// for its topic as dropped (here: cache full, storage failed) or as lost (in transport: its sequence number never
// came). The counts are in Stats, in the log, in the bag's custom data and in Result.
//
// Life cycle: New, Serve to offer the services, Run until its context ends. Record and Stop make bags in between, any
// number of them; services and keys call the same methods. Shutdown is an order, not a cancel: when Run's context ends
// it stops taking, closes the cache, drains it, seals the bag and returns; the node must live until then.
//
// Log levels: error for a bag that failed or a topic that can not be recorded at all, warn for lost data and for what
// was asked but is not recorded, info for what a user should see of a recording.
package recorder
