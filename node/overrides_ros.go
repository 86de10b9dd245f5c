//go:build ros

package node

/*
#cgo LDFLAGS: -lrcl_yaml_param_parser
#include <stdlib.h>
#include "parameters.h"
*/
import "C"

import (
	"path"
	"unsafe"

	"rosbagd/node/param"
)

// ParameterOverrides reads what opts.ROSArgs, with the parameter files that they name, say about the parameters of the
// node that opts describe. Of several values the last one counts, in the order of rclcpp: that of the node patterns as
// they come up for the first time. What can not be read is an *ArgumentError.
func ParameterOverrides(opts Options) (param.Overrides, error) {
	arguments, err := parseROSArgs(opts.ROSArgs)
	if err != nil {
		return nil, err
	}
	defer arguments.close()
	name, err := arguments.fullName(opts.Name, opts.Namespace)
	if err != nil {
		return nil, err
	}
	var parameters *C.rcl_params_t
	var e cError
	if C.rbd_parameter_overrides(&arguments.parsed, &parameters, e.buffer()) != 0 {
		return nil, e.err("look at ROS arguments")
	}
	overrides := param.Overrides{}
	if parameters == nil {
		return overrides, nil
	}
	defer C.rbd_parameters_free(parameters)
	overrides.Add(name, "-p", sectionsFromC(parameters))
	return overrides, nameFiles(overrides, name, opts.ROSArgs)
}

// nameFiles finds out which file a value comes from, which rcl does not keep.
func nameFiles(overrides param.Overrides, node string, rosArgs []string) error {
	for i, arg := range rosArgs {
		if arg != "--params-file" || i+1 == len(rosArgs) {
			continue
		}
		sections, err := parameterFile(rosArgs[i+1])
		if err != nil {
			return err
		}
		overrides.Attribute(node, "file "+rosArgs[i+1], sections)
	}
	return nil
}

func parameterFile(file string) ([]param.Section, error) {
	cFile := C.CString(file)
	defer C.free(unsafe.Pointer(cFile))
	var parameters *C.rcl_params_t
	var e cError
	if C.rbd_parameter_file(cFile, &parameters, e.buffer()) != 0 {
		return nil, &ArgumentError{Text: e.err("--params-file " + file).Error()}
	}
	defer C.rbd_parameters_free(parameters)
	return sectionsFromC(parameters), nil
}

// fullName is the fully qualified name that a node gets.
func (a *rosArguments) fullName(name, space string) (string, error) {
	cName, cSpace := C.CString(name), C.CString(space)
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cSpace))
	var newName, newSpace *C.char
	var e cError
	if C.rbd_remapped(&a.parsed, cName, cSpace, &newName, &newSpace, e.buffer()) != 0 {
		return "", e.err("look at ROS arguments")
	}
	defer C.free(unsafe.Pointer(newName))
	defer C.free(unsafe.Pointer(newSpace))
	return path.Join("/", C.GoString(newSpace), C.GoString(newName)), nil
}

// sectionsFromC copies what rcl's parser found, in its order.
func sectionsFromC(parameters *C.rcl_params_t) []param.Section {
	nodes := unsafe.Slice(parameters.node_names, int(parameters.num_nodes))
	contents := unsafe.Slice(parameters.params, int(parameters.num_nodes))
	sections := make([]param.Section, 0, len(nodes))
	for i, node := range nodes {
		section := param.Section{Node: C.GoString(node)}
		names := unsafe.Slice(contents[i].parameter_names, int(contents[i].num_params))
		values := unsafe.Slice(contents[i].parameter_values, int(contents[i].num_params))
		for j, name := range names {
			section.Parameters = append(section.Parameters, param.Parameter{Name: C.GoString(name), Value: valueFromC(&values[j])})
		}
		sections = append(sections, section)
	}
	return sections
}

// valueFromC is NotSet for an empty list, whose type the parser can not know.
func valueFromC(v *C.rcl_variant_t) param.Value {
	switch {
	case v.bool_value != nil:
		return param.Of(bool(*v.bool_value))
	case v.integer_value != nil:
		return param.Of(int64(*v.integer_value))
	case v.double_value != nil:
		return param.Of(float64(*v.double_value))
	case v.string_value != nil:
		return param.Of(C.GoString(v.string_value))
	case v.byte_array_value != nil:
		return param.Of(C.GoBytes(unsafe.Pointer(v.byte_array_value.values), C.int(v.byte_array_value.size)))
	case v.bool_array_value != nil:
		return arrayFromC(v.bool_array_value.values, v.bool_array_value.size, func(b C.bool) bool { return bool(b) })
	case v.integer_array_value != nil:
		return arrayFromC(v.integer_array_value.values, v.integer_array_value.size, func(i C.int64_t) int64 { return int64(i) })
	case v.double_array_value != nil:
		return arrayFromC(v.double_array_value.values, v.double_array_value.size, func(d C.double) float64 { return float64(d) })
	case v.string_array_value != nil:
		return arrayFromC(v.string_array_value.data, v.string_array_value.size, func(s *C.char) string { return C.GoString(s) })
	}
	return param.Value{}
}

// arrayFromC copies an array into a value of the matching array type.
func arrayFromC[From, To any](data *From, size C.size_t, convert func(From) To) param.Value {
	values := make([]To, 0, int(size))
	for _, one := range unsafe.Slice(data, int(size)) {
		values = append(values, convert(one))
	}
	switch array := any(values).(type) {
	case []bool:
		return param.Of(array)
	case []int64:
		return param.Of(array)
	case []float64:
		return param.Of(array)
	case []string:
		return param.Of(array)
	}
	return param.Value{}
}
