package recorder

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"rosbagd/bag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness runs a Recorder in a synctest bubble among fakes.
type harness struct {
	*Recorder
	t      *testing.T
	graph  *fakeGraph
	sub    *fakeSubscriber
	events *fakeEvents
	logs   *observer.ObservedLogs

	mu      sync.Mutex
	bags    []*fakeBag
	taken   map[string]bool // names that exist
	prepare func(*fakeBag)  // changes a bag before it is used

	end  context.CancelFunc
	done chan error
}

func newHarness(t *testing.T, opts Options) *harness {
	core, logs := observer.New(zap.DebugLevel)
	h := &harness{
		t: t, graph: newFakeGraph(), sub: newFakeSubscriber(), events: &fakeEvents{}, logs: logs,
		taken: map[string]bool{}, done: make(chan error, 1),
	}
	opts.NodeName = "/recorder"
	h.Recorder = New(opts, Environment{
		Graph: h.graph, Subscriber: h.sub, Events: h.events, Definitions: noDefinitions{}, Bags: h.create,
		Logger: zap.New(core),
	})
	return h
}

func (h *harness) create(uri string, split func(closed, opened string)) (Bag, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[uri] {
		return nil, fmt.Errorf("create %s: %w", uri, bag.ErrExists)
	}
	h.taken[uri] = true
	made := &fakeBag{uri: uri, split: split, custom: map[string]string{}, runErr: make(chan error, 1)}
	if h.prepare != nil {
		h.prepare(made)
	}
	h.bags = append(h.bags, made)
	return made, nil
}

// run starts Run and waits until it is at rest.
func (h *harness) run() {
	ctx, end := context.WithCancel(context.Background())
	h.end = end
	go func() { h.done <- h.Run(ctx) }()
	synctest.Wait()
}

// shutdown ends Run, checks that all memory was given back, and returns what Run returned.
func (h *harness) shutdown() error {
	h.end()
	err := <-h.done
	require.Equal(h.t, h.sub.given, h.sub.released, "batches released")
	for i, m := range h.sub.made {
		require.True(h.t, m.ended, "subscription %d to %s", i+1, m.topic)
	}
	return err
}

func (h *harness) bag() *fakeBag {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bags[len(h.bags)-1]
}

// pass lets time go on.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (h *harness) logged(text string) int { return h.logs.FilterMessageSnippet(text).Len() }
