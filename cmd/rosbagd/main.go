// Command rosbagd records and plays ROS 2 bags; see README.md.
package main

import (
	"os"
)

func main() {
	os.Exit(run(withVerb(os.Args), os.Stdout, os.Stderr))
}
