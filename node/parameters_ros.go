//go:build ros

package node

import (
	"fmt"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"
	"github.com/tiiuae/rclgo/pkg/rclgo/types"
	"go.uber.org/zap"

	"rosbagd/msgs"
	rcl_interfaces_msg "rosbagd/msgs/gen/rcl_interfaces/msg"
	rcl_interfaces_srv "rosbagd/msgs/gen/rcl_interfaces/srv"
	"rosbagd/node/param"
	"rosbagd/storage/qos"
)

// parameterProfile is rclcpp's QoS for the services of parameters and for /parameter_events.
func parameterProfile() qos.Profile {
	profile := qos.Default()
	profile.Depth = 1000
	return profile
}

// serveParameters offers the store to the graph: six services, and an event for what is there and for each change.
func (n *Node) serveParameters(store *param.Store) error {
	server := parameterServer{node: n, store: store}
	for _, err := range []error{
		serveTyped(n, "~/get_parameters", rcl_interfaces_srv.GetParametersTypeSupport, server.get),
		serveTyped(n, "~/get_parameter_types", rcl_interfaces_srv.GetParameterTypesTypeSupport, server.types),
		serveTyped(n, "~/set_parameters", rcl_interfaces_srv.SetParametersTypeSupport, server.set),
		serveTyped(n, "~/set_parameters_atomically", rcl_interfaces_srv.SetParametersAtomicallyTypeSupport, server.setAtomically),
		serveTyped(n, "~/describe_parameters", rcl_interfaces_srv.DescribeParametersTypeSupport, server.describe),
		serveTyped(n, "~/list_parameters", rcl_interfaces_srv.ListParametersTypeSupport, server.list),
	} {
		if err != nil {
			return err
		}
	}
	publisher, err := n.ros.NewPublisher("/parameter_events", rcl_interfaces_msg.ParameterEventTypeSupport,
		&rclgo.PublisherOptions{Qos: profileToRclgo(parameterProfile())})
	if err != nil {
		return fmt.Errorf("create publisher for /parameter_events: %w", firstLine(err))
	}
	server.events = publisher
	store.Listen(server.publish)
	server.publish(param.Event{New: store.All()})
	return nil
}

// serveTyped adds a service whose requests are answered at once.
func serveTyped[Request types.Message](
	n *Node, name string, support types.ServiceTypeSupport, answer func(Request) types.Message,
) error {
	options := &rclgo.ServiceOptions{Qos: profileToRclgo(parameterProfile())}
	_, err := n.ros.NewService(name, support, options,
		func(_ *rclgo.ServiceInfo, raw types.Message, sender rclgo.ServiceResponseSender) {
			if request, ok := raw.(Request); ok {
				n.send(name, answer(request), sender)
			}
		})
	if err != nil {
		return fmt.Errorf("create service %s: %w", name, firstLine(err))
	}
	return nil
}

// parameterServer speaks rcl_interfaces for a store. Its answers are those of rclcpp: a request that names a parameter
// which is not declared gets an empty list, whatever else it names.
type parameterServer struct {
	node   *Node
	store  *param.Store
	events *rclgo.Publisher // events come one at a time
}

// each converts what find gives for the names; nil when there is nothing for one of them.
func each[V, M any](names []string, find func(name string) (V, bool), convert func(V) M) []M {
	var found []M
	for _, name := range names {
		value, ok := find(name)
		if !ok {
			return nil
		}
		found = append(found, convert(value))
	}
	return found
}

func (s parameterServer) get(request *rcl_interfaces_srv.GetParameters_Request) types.Message {
	response := rcl_interfaces_srv.NewGetParameters_Response()
	response.Values = each(request.Names, s.store.Get, valueToMessage)
	return response
}

func (s parameterServer) types(request *rcl_interfaces_srv.GetParameterTypes_Request) types.Message {
	response := rcl_interfaces_srv.NewGetParameterTypes_Response()
	response.Types = each(request.Names, s.store.Get, func(value param.Value) uint8 { return uint8(value.Type()) })
	return response
}

func (s parameterServer) set(request *rcl_interfaces_srv.SetParameters_Request) types.Message {
	response := rcl_interfaces_srv.NewSetParameters_Response()
	for _, one := range request.Parameters {
		response.Results = append(response.Results, s.change([]rcl_interfaces_msg.Parameter{one}))
	}
	return response
}

func (s parameterServer) setAtomically(request *rcl_interfaces_srv.SetParametersAtomically_Request) types.Message {
	response := rcl_interfaces_srv.NewSetParametersAtomically_Response()
	response.Result = s.change(request.Parameters)
	return response
}

// change sets all of these or none, and says how it went.
func (s parameterServer) change(messages []rcl_interfaces_msg.Parameter) rcl_interfaces_msg.SetParametersResult {
	var parameters []param.Parameter
	for _, one := range messages {
		value, err := valueFromMessage(&one.Value)
		if err != nil {
			return rcl_interfaces_msg.SetParametersResult{Reason: (&param.Error{Name: one.Name, Err: err}).Error()}
		}
		parameters = append(parameters, param.Parameter{Name: one.Name, Value: value})
	}
	if err := s.store.SetAtomically(parameters...); err != nil {
		return rcl_interfaces_msg.SetParametersResult{Reason: err.Error()}
	}
	return rcl_interfaces_msg.SetParametersResult{Successful: true}
}

func (s parameterServer) describe(request *rcl_interfaces_srv.DescribeParameters_Request) types.Message {
	response := rcl_interfaces_srv.NewDescribeParameters_Response()
	response.Descriptors = each(request.Names, s.store.Describe, descriptionToMessage)
	return response
}

func (s parameterServer) list(request *rcl_interfaces_srv.ListParameters_Request) types.Message {
	response := rcl_interfaces_srv.NewListParameters_Response()
	response.Result.Names, response.Result.Prefixes = s.store.List(request.Prefixes, request.Depth)
	return response
}

// publish tells the graph of a change.
func (s parameterServer) publish(event param.Event) {
	message := rcl_interfaces_msg.NewParameterEvent()
	stamp := msgs.TimeFromNanos(time.Now().UnixNano())
	message.Stamp.Sec, message.Stamp.Nanosec = stamp.Sec, stamp.Nanosec
	message.Node = s.node.Name()
	message.NewParameters = parametersToMessage(event.New)
	message.ChangedParameters = parametersToMessage(event.Changed)
	message.DeletedParameters = parametersToMessage(event.Deleted)
	if err := s.send(message); err != nil {
		s.node.Logger().Warn("Parameter event was not published", zap.Error(err))
	}
}

func (s parameterServer) send(message *rcl_interfaces_msg.ParameterEvent) error {
	s.node.mu.RLock()
	defer s.node.mu.RUnlock()
	if s.node.closed {
		return nil // nobody can listen any more
	}
	if err := s.events.Publish(message); err != nil {
		return firstLine(err)
	}
	return nil
}
