//go:build ros

package node_test

import (
	"context"
	"fmt"
	"log"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

// Example takes messages of a topic as they come, without knowing their type.
func Example() {
	n, err := node.Open(node.Options{Name: "listener"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()
	if _, err := n.Subscribe("/chatter", "std_msgs/msg/String", qos.Default()); err != nil {
		log.Print(err)
		return
	}
	for {
		batch, err := n.Take(context.Background())
		if err != nil {
			return
		}
		for _, message := range batch.Messages {
			fmt.Println(message.ReceivedNanos, len(message.Data))
		}
		batch.Release()
	}
}
