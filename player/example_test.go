package player_test

import (
	"context"
	"fmt"
	"time"

	"rosbagd/bag"
	"rosbagd/player"
	"rosbagd/storage/qos"
)

// printer stands for the middleware.
type printer struct{ topic string }

func (printer) CreatePublisher(topic, _ string, _ qos.Profile) (player.Publisher, error) {
	return printer{topic}, nil
}

func (p printer) Publish(data []byte) error {
	fmt.Println(p.topic, len(data))
	return nil
}

func (printer) WaitAcked(time.Duration) (bool, error) { return true, nil }

func (printer) Close() error { return nil }

// Example plays a bag twice as fast as it was recorded.
func Example() {
	reader, err := bag.Open("drive", bag.ReaderOptions{})
	if err != nil {
		fmt.Println("no bag here")
		return
	}
	defer func() { _ = reader.Close() }()
	play, err := player.New(player.FromBag(reader), player.Connections{Publishers: printer{}}, player.Options{Rate: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := play.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: no bag here
}
