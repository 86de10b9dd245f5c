package recorder_test

import (
	"context"
	"fmt"
	"time"

	"rosbagd/bag"
	"rosbagd/node"
	"rosbagd/recorder"
	"rosbagd/storage/qos"
)

// silence is a graph without topics; in a program a node stands here.
type silence struct{ flush chan struct{} }

func (silence) Topics() (map[string][]string, error)       { return nil, nil }
func (silence) Publishers(string) ([]node.Endpoint, error) { return nil, nil }
func (silence) Unsubscribe(node.SubscriptionID) error      { return nil }

func (silence) Changed(ctx context.Context, _ time.Duration) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (s silence) Flush() {
	select {
	case s.flush <- struct{}{}:
	default:
	}
}

func (s silence) Take(ctx context.Context) (*node.Batch, error) {
	select {
	case <-s.flush:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (silence) Subscribe(string, string, qos.Profile) (node.SubscriptionID, error) {
	return 0, node.ErrClosed
}

// Record everything until the context ends, and tell whether it is whole.
func Example() {
	graph := silence{flush: make(chan struct{}, 1)}
	r := recorder.New(recorder.Options{
		URI:           "my_bag",
		RecordAtStart: true,
		EndOnFailure:  true,
		Filter:        recorder.Filter{AllTopics: true},
		MaxCacheSize:  recorder.DefaultMaxCacheSize,
	}, recorder.Environment{Graph: graph, Subscriber: graph, Bags: recorder.NewBags(bag.WriterOptions{})})

	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // a program ends with a signal
	defer stop()
	if err := r.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("data was lost here:", r.Result().LostHere())
}
