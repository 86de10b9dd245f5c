package clock_test

import (
	"fmt"
	"time"

	"rosbagd/clock"
)

// A recording from the first second on is played at four times its speed.
func Example() {
	c := clock.New(clock.Time(time.Second), clock.WithRate(4))
	defer c.Close()
	due := clock.Time(time.Second).Add(20 * time.Millisecond)
	reached := c.SleepUntil(due, time.Minute)
	fmt.Println(reached, c.Now() >= due)
	// Output: true true
}
