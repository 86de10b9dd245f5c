//go:build ros

package node

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -Wall -Wextra
#cgo LDFLAGS: -lrcl -lrmw -lrcutils -lrosidl_runtime_c -lrosidl_typesupport_introspection_c -ldl -lpthread
#include <stdlib.h>
#include <rmw/rmw.h>
#include "dataplane.h"
#include "graph.h"
#include "rosout.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"rosbagd/node/param"
)

// defaultPrefix is the list of ament prefixes that the program was built on, in the form of AMENT_PREFIX_PATH; set by
// the linker. It makes the binary run from any directory without a sourced set-up.
var defaultPrefix string

// Options says what node to open.
type Options struct {
	Name      string   // default node name; a remap rule __node:= in ROSArgs wins
	Namespace string   // default namespace; a remap rule __ns:= wins
	ROSArgs   []string // what stands between --ros-args and --, without these two

	// Parameters are those of the node, for the graph to see and change; nil is none.
	Parameters *param.Store

	neverCalled bool // for tests: as if the middleware called nobody for a new message
}

// Node is one node with its own context. Its methods may be called from any goroutine; Take belongs to one.
type Node struct {
	context *rclgo.Context
	ros     *rclgo.Node
	handle  *C.rcl_node_t // borrowed from ros

	types      typeSupports
	describer  *describer // nil where the distro has none
	middleware Middleware

	silentLosses atomic.Bool // some subscription is not told what it loses in transport
	polled       atomic.Bool // some subscription is not told of new messages
	sayPolled    sync.Once

	flushes atomic.Uint64 // calls of Flush

	watching sync.Mutex // held by the goroutine that waits for the graph

	// A lock of its own: making and ending what lies on the node can take seconds, in which messages must be taken.
	planeMu sync.RWMutex
	plane   *C.rbd_plane_t // written with mu and planeMu, read with either; nil once closed

	// What follows belongs to the goroutine of Take.
	flushed  uint64 // calls of Flush that were answered
	arrivals arrivals
	stamps   stampCheck

	mu            sync.RWMutex // guards closed and what lies below; held for reading by every call into C
	closed        bool
	rosout        bool
	graph         *C.rbd_graph_wait_t
	subscriptions map[SubscriptionID]*C.rbd_subscription_t
	lastID        SubscriptionID
	publishers    map[*Publisher]struct{}
	clients       map[*Client]struct{}
	inquirers     inquirers
}

// Open makes a context and a node in it. The node is visible in the graph at once; its services answer once Run runs.
// Unknown or malformed ROS arguments give an *ArgumentError.
func Open(opts Options) (*Node, error) {
	known, err := parseROSArgs(opts.ROSArgs)
	if err != nil {
		return nil, err
	}
	known.close()
	if err := usePrefix(); err != nil {
		return nil, err
	}
	if err := checkLogDirectory(opts.ROSArgs); err != nil {
		return nil, err
	}
	args, _, err := rclgo.ParseArgs(append([]string{"--ros-args"}, opts.ROSArgs...))
	if err != nil {
		return nil, fmt.Errorf("parse ROS arguments: %w", firstLine(err))
	}
	// rclgo configures logging only once for the process; this asks for it with the arguments of this node.
	if err := rclgo.InitLogging(args); err != nil {
		return nil, fmt.Errorf("set up logging: %w", firstLine(err))
	}
	ctx, err := rclgo.NewContextWithOpts(args, nil)
	if err != nil {
		return nil, fmt.Errorf("join ROS graph: %w", firstLine(err))
	}
	n := &Node{
		context:       ctx,
		subscriptions: map[SubscriptionID]*C.rbd_subscription_t{},
		publishers:    map[*Publisher]struct{}{},
		clients:       map[*Client]struct{}{},
	}
	if err := n.open(opts); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) open(opts Options) error {
	ros, err := n.context.NewNode(opts.Name, opts.Namespace)
	if err != nil {
		return fmt.Errorf("create node %q: %w", opts.Name, firstLine(err))
	}
	n.ros = ros
	n.handle = (*C.rcl_node_t)(unexportedPointer(ros, "rcl_node_t"))
	n.middleware = MiddlewareOf(C.GoString(C.rmw_get_implementation_identifier()))
	plane := C.rbd_plane_options_t{
		take_on_wake: boolToC(n.middleware.Stamping == StampedAtTake), never_called: boolToC(opts.neverCalled),
	}
	var e cError
	if C.rbd_plane_create(&plane, &n.plane, e.buffer()) != 0 {
		return e.err("create data plane")
	}
	if C.rbd_rosout_open(n.handle, e.buffer()) != 0 {
		return e.err("open node")
	}
	n.rosout = true
	parameters := opts.Parameters
	if parameters == nil {
		parameters = param.NewStore(nil)
	}
	if n.describer, err = n.openDescriber(parameters); err != nil {
		return err
	}
	contextHandle := (*C.rcl_context_t)(unexportedPointer(n.context, "rcl_context_t"))
	if C.rbd_graph_wait_create(n.handle, contextHandle, &n.graph, e.buffer()) != 0 {
		return e.err("watch graph")
	}
	return n.serveParameters(parameters)
}

func boolToC(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// unexportedPointer reads the rcl handle that rclgo keeps to itself: our data plane lives on rclgo's own node.
func unexportedPointer(owner any, field string) unsafe.Pointer {
	return reflect.ValueOf(owner).Elem().FieldByName(field).UnsafePointer()
}

// usePrefix lets ROS find its packages when no ROS was sourced but the prefix of the build is still there. What was
// sourced without a ROS, such as the prefix that the program is installed in, comes first.
func usePrefix() error {
	prefixes := filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH"))
	for _, prefix := range prefixes {
		if _, err := os.Stat(filepath.Join(prefix, "share", "rcl")); err == nil {
			return nil
		}
	}
	for _, prefix := range filepath.SplitList(defaultPrefix) {
		if _, err := os.Stat(prefix); err == nil {
			prefixes = append(prefixes, prefix)
		}
	}
	if len(prefixes) == 0 {
		return nil // a moved binary works on a sourced ROS; what is missing is named by whoever needs it
	}
	if err := os.Setenv("AMENT_PREFIX_PATH", strings.Join(prefixes, string(filepath.ListSeparator))); err != nil {
		return fmt.Errorf("set AMENT_PREFIX_PATH: %w", err)
	}
	return nil
}

// EndLogging ends the log of the process, after the last node is closed: without it the log file lacks its last lines.
func EndLogging() error {
	var e cError
	if C.rbd_logging_end(e.buffer()) != 0 {
		return e.err("close node")
	}
	return nil
}

// Name is the fully qualified name of the node, after remapping.
func (n *Node) Name() string { return n.ros.FullyQualifiedName() }

// Namespace is the namespace of the node, after remapping.
func (n *Node) Namespace() string { return n.ros.Namespace() }

// Middleware tells the rules for the RMW implementation that the node runs on.
func (n *Node) Middleware() Middleware { return n.middleware }

// Run serves the services until ctx ends, and then returns nil. All services must have been registered before.
func (n *Node) Run(ctx context.Context) error {
	describing, stop := context.WithCancel(ctx)
	var describer sync.WaitGroup
	describer.Go(func() { n.describe(describing) })
	err := n.ros.Spin(ctx)
	stop()
	describer.Wait()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop
	}
	if err != nil {
		return fmt.Errorf("serve node: %w", firstLine(err))
	}
	return nil
}

// Close destroys everything that was made on the node, then the node and its context. Run, Take and Changed must have
// returned. A second Close does nothing.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	var errs []error
	for publisher := range n.publishers {
		errs = append(errs, publisher.destroy())
	}
	n.publishers = nil
	for client := range n.clients {
		errs = append(errs, client.destroy())
	}
	n.clients = nil
	if n.describer != nil {
		errs = append(errs, n.describer.close())
	}
	n.planeMu.Lock()
	if n.plane != nil {
		C.rbd_plane_destroy(n.plane)
		n.plane = nil
	}
	n.planeMu.Unlock()
	n.subscriptions = nil
	if n.graph != nil {
		C.rbd_graph_wait_destroy(n.graph)
		n.graph = nil
	}
	if n.rosout {
		C.rbd_rosout_close(n.handle)
	}
	if err := n.context.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close node: %w", firstLine(err)))
	} else {
		n.types.free() // a context that does not end may still use them
	}
	return errors.Join(errs...)
}

// defaultDistro is the distro that the program was built on; set by the linker.
var defaultDistro string

// DefaultDistro is the distro that the program was built on, for where ROS_DISTRO is not set.
func DefaultDistro() string { return defaultDistro }
