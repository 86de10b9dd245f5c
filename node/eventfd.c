//go:build ros

#include "eventfd.h"

#include <stdint.h>
#include <unistd.h>

void rbd_eventfd_signal(int event)
{
  uint64_t one = 1;
  // Fails only when the counter is full, and then the reader wakes up anyway.
  ssize_t ignored = write(event, &one, sizeof one);
  (void)ignored;
}
