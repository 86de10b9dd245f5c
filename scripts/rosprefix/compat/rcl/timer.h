// Gives back rcl_timer_init, which became rcl_timer_init2: rclgo still calls it.
#ifndef ROSBAGD_COMPAT_RCL_TIMER_H_
#define ROSBAGD_COMPAT_RCL_TIMER_H_

#include_next <rcl/timer.h>

static inline rcl_ret_t rcl_timer_init(
  rcl_timer_t * timer, rcl_clock_t * clock, rcl_context_t * context, int64_t period,
  const rcl_timer_callback_t callback, rcl_allocator_t allocator)
{
  return rcl_timer_init2(timer, clock, context, period, callback, allocator, true);
}

#endif  // ROSBAGD_COMPAT_RCL_TIMER_H_
