//go:build ros

package node

import (
	"fmt"
	"sync"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"

	"rosbagd/msgs"
	"rosbagd/msgs/gen"
)

// Handle registers a service of rosbag2_interfaces under name ("~/pause"). All services of a node share one goroutine:
// handler gets a pointer to a request and a reply function; it must not block, and may call reply later, from any
// goroutine. Only the first reply counts. A service that the distro at hand does not have is left out without an
// error: its clients can not exist there either. Handle must not be called while Run runs.
func (n *Node) Handle(name string, srv msgs.Service, handler func(request any, reply func(response any))) error {
	support, ok := gen.Services[srv.Name]
	if !ok {
		return nil
	}
	_, err := n.ros.NewService(name, support, nil, func(_ *rclgo.ServiceInfo, raw types.Message, sender rclgo.ServiceResponseSender) {
		request := srv.NewRequest()
		copyFields(request, raw)
		var once sync.Once
		handler(request, func(response any) {
			once.Do(func() { n.respond(name, support.Response().New(), response, sender) })
		})
	})
	if err != nil {
		return fmt.Errorf("create service %s: %w", name, firstLine(err))
	}
	return nil
}

func (n *Node) respond(name string, raw types.Message, response any, sender rclgo.ServiceResponseSender) {
	copyFields(raw, response)
	n.send(name, raw, sender)
}

func (n *Node) send(name string, response types.Message, sender rclgo.ServiceResponseSender) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.closed {
		return // nobody is left to answer through
	}
	if err := sender.SendResponse(response); err != nil {
		// The client went away while we worked: it is the only one who would want to know.
		n.ros.Logger().Debugf("answer of %s not sent: %v", name, firstLine(err)) //nolint:errcheck // nothing to do about a log line
	}
}
