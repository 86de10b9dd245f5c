//go:build ros

// drain takes the traffic of load.c through package node and throws it away: what receiving costs a recorder before it
// writes anything, beside the floors of `load sub`.
//
//	drain [--topics N] [--prefix P] [--depth D] [--best-effort]
//
// It prints "ready" when it has subscribed P/t0, P/t1 and so on, and at INT or TERM one line of JSON: messages and bytes
// got, numbers missing, and how many losses the middleware told.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"rosbagd/node"
	"rosbagd/storage/qos"
)

const (
	stringType = "std_msgs/msg/String"
	textAt     = 8 // the number begins here, in hexadecimal digits
	digits     = 16
)

// tally is what was got, with the number that should come next by subscription.
type tally struct {
	Got     uint64 `json:"got"`
	Missing uint64 `json:"missing"`
	Bytes   uint64 `json:"bytes"`
	Told    uint64 `json:"told"`
	Batches uint64 `json:"batches"`
	next    map[node.SubscriptionID]uint64
}

func main() {
	topics := flag.Int("topics", 1, "number of topics")
	prefix := flag.String("prefix", "/load", "what their names begin with")
	depth := flag.Int("depth", 1000, "history of each subscription")
	bestEffort := flag.Bool("best-effort", false, "ask for no repetition of what was lost")
	flag.Parse()
	profile := qos.Default()
	profile.Depth = *depth
	if *bestEffort {
		profile.Reliability = qos.BestEffort
	}
	if err := run(*topics, *prefix, profile); err != nil {
		fmt.Fprintln(os.Stderr, "drain:", err)
		os.Exit(1)
	}
}

func run(topics int, prefix string, profile qos.Profile) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := node.Open(node.Options{Name: fmt.Sprintf("drain_%d", os.Getpid())})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for i := range topics {
		if _, err := n.Subscribe(fmt.Sprintf("%s/t%d", prefix, i), stringType, profile); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	t := tally{next: map[node.SubscriptionID]uint64{}}
	for {
		batch, err := n.Take(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		if batch != nil {
			t.count(batch)
			batch.Release()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

func (t *tally) count(batch *node.Batch) {
	t.Batches++
	for _, loss := range batch.Losses {
		t.Told += loss.Count
	}
	for i := range batch.Messages {
		m := &batch.Messages[i]
		t.Got++
		t.Bytes += uint64(len(m.Data))
		number := parse(m.Data)
		if next := t.next[m.Subscription]; number > next {
			t.Missing += number - next
		}
		t.next[m.Subscription] = number + 1
	}
}

func parse(data []byte) uint64 {
	if len(data) < textAt+digits {
		return 0
	}
	var number uint64
	for _, c := range data[textAt : textAt+digits] {
		digit := c - '0'
		if c >= 'a' {
			digit = c - 'a' + 10
		}
		number = number<<4 | uint64(digit)
	}
	return number
}
