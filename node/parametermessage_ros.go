//go:build ros

package node

import (
	"fmt"
	"strings"

	rcl_interfaces_msg "rosbagd/msgs/gen/rcl_interfaces/msg"
	"rosbagd/node/param"
)

func valueToMessage(v param.Value) rcl_interfaces_msg.ParameterValue {
	message := rcl_interfaces_msg.ParameterValue{Type: uint8(v.Type())}
	// Where the type is another one, As gives the zero value, which is what an unused field holds.
	message.BoolValue, _ = param.As[bool](v)
	message.IntegerValue, _ = param.As[int64](v)
	message.DoubleValue, _ = param.As[float64](v)
	message.StringValue, _ = param.As[string](v)
	message.ByteArrayValue, _ = param.As[[]byte](v)
	message.BoolArrayValue, _ = param.As[[]bool](v)
	message.IntegerArrayValue, _ = param.As[[]int64](v)
	message.DoubleArrayValue, _ = param.As[[]float64](v)
	message.StringArrayValue, _ = param.As[[]string](v)
	return message
}

func valueFromMessage(message *rcl_interfaces_msg.ParameterValue) (param.Value, error) {
	switch t := param.Type(message.Type); t {
	case param.NotSet:
		return param.Value{}, nil
	case param.Bool:
		return param.Of(message.BoolValue), nil
	case param.Integer:
		return param.Of(message.IntegerValue), nil
	case param.Double:
		return param.Of(message.DoubleValue), nil
	case param.String:
		return param.Of(message.StringValue), nil
	case param.ByteArray:
		return param.Of(message.ByteArrayValue), nil
	case param.BoolArray:
		return param.Of(message.BoolArrayValue), nil
	case param.IntegerArray:
		return param.Of(message.IntegerArrayValue), nil
	case param.DoubleArray:
		return param.Of(message.DoubleArrayValue), nil
	case param.StringArray:
		return param.Of(message.StringArrayValue), nil
	default:
		return param.Value{}, fmt.Errorf("value is of %v", t)
	}
}

func parametersToMessage(parameters []param.Parameter) []rcl_interfaces_msg.Parameter {
	var messages []rcl_interfaces_msg.Parameter
	for _, p := range parameters {
		messages = append(messages, rcl_interfaces_msg.Parameter{Name: p.Name, Value: valueToMessage(p.Value)})
	}
	return messages
}

func descriptionToMessage(d param.Description) rcl_interfaces_msg.ParameterDescriptor {
	message := rcl_interfaces_msg.ParameterDescriptor{
		Name: d.Name, Type: uint8(d.Type), Description: d.Description, AdditionalConstraints: d.Constraints,
		ReadOnly: d.ReadOnly != "", DynamicTyping: d.DynamicTyping,
	}
	if len(d.Words) > 0 && d.Constraints == "" {
		message.AdditionalConstraints = "one of " + strings.Join(d.Words, ", ")
	}
	if r := d.IntegerRange; r != nil {
		message.IntegerRange = []rcl_interfaces_msg.IntegerRange{{FromValue: r.From, ToValue: r.To, Step: r.Step}}
	}
	if r := d.DoubleRange; r != nil {
		message.FloatingPointRange = []rcl_interfaces_msg.FloatingPointRange{{FromValue: r.From, ToValue: r.To, Step: r.Step}}
	}
	return message
}
