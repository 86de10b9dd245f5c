//go:build ros

// How a thread of the middleware wakes one of ours.
#ifndef ROSBAGD_EVENTFD_H
#define ROSBAGD_EVENTFD_H

// Adds one to an eventfd, which stays the caller's. Takes no lock and waits for nothing, so that callbacks of the
// middleware, which may hold locks of its own, can call it.
void rbd_eventfd_signal(int event);

#endif
