package bag_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"rosbagd/bag"
	"rosbagd/storage"
)

func Example() {
	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(parent) }()
	path := filepath.Join(parent, "demo")

	w, err := bag.Create(path, bag.WriterOptions{ROSDistro: "jazzy"})
	if err != nil {
		return
	}
	var group errgroup.Group
	group.Go(func() error { return w.Run(context.Background()) })
	id, _ := w.AddTopic(storage.Topic{Name: "/chatter", Type: "std_msgs/msg/String", SerializationFormat: "cdr"})
	_ = w.Write([]storage.Message{{Topic: id, LogTimeNanos: 1, PublishTimeNanos: 1, Data: []byte("payload")}})
	if err := w.Seal(); err != nil {
		return
	}
	_ = group.Wait()

	r, err := bag.Open(path, bag.ReaderOptions{})
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	it, err := r.Messages(bag.Query{})
	if err != nil {
		return
	}
	m, _ := it.Next()
	fmt.Printf("%s %s\n", r.Topics()[m.Topic].Name, m.Data)
	// Output: /chatter payload
}
