package param

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a Value; the numbers are those of rcl_interfaces/msg/ParameterType.
type Type uint8

// The types of parameters. NotSet is that of the zero Value.
const (
	NotSet Type = iota
	Bool
	Integer
	Double
	String
	ByteArray
	BoolArray
	IntegerArray
	DoubleArray
	StringArray
)

func (t Type) String() string {
	names := [...]string{
		"not set", "bool", "integer", "double", "string",
		"byte_array", "bool_array", "integer_array", "double_array", "string_array",
	}
	if int(t) >= len(names) {
		return "unknown type " + strconv.Itoa(int(t))
	}
	return names[t]
}

// Kind is what a Value can hold.
type Kind interface {
	bool | int64 | float64 | string | []byte | []bool | []int64 | []float64 | []string
}

// Value is a value of one of the types. It does not change, and shares no memory with anybody.
type Value struct {
	kind Type
	data any
}

// Of makes a Value.
func Of[T Kind](data T) Value {
	switch d := any(data).(type) {
	case bool:
		return Value{Bool, d}
	case int64:
		return Value{Integer, d}
	case float64:
		return Value{Double, d}
	case string:
		return Value{String, d}
	case []byte:
		return Value{ByteArray, slices.Clone(d)}
	case []bool:
		return Value{BoolArray, slices.Clone(d)}
	case []int64:
		return Value{IntegerArray, slices.Clone(d)}
	case []float64:
		return Value{DoubleArray, slices.Clone(d)}
	case []string:
		return Value{StringArray, slices.Clone(d)}
	}
	return Value{}
}

// As gives what v holds; false when v is of another type.
func As[T Kind](v Value) (T, bool) {
	data, ok := v.data.(T)
	switch d := any(data).(type) {
	case []byte:
		data, _ = any(slices.Clone(d)).(T)
	case []bool:
		data, _ = any(slices.Clone(d)).(T)
	case []int64:
		data, _ = any(slices.Clone(d)).(T)
	case []float64:
		data, _ = any(slices.Clone(d)).(T)
	case []string:
		data, _ = any(slices.Clone(d)).(T)
	}
	return data, ok
}

// Type is the type of v.
func (v Value) Type() Type { return v.kind }

// Equal says whether both are the same value of the same type. NaN is equal to NaN.
func (v Value) Equal(other Value) bool {
	if v.kind != other.kind {
		return false
	}
	switch a := v.data.(type) {
	case float64:
		b, _ := other.data.(float64)
		return sameDouble(a, b)
	case []byte:
		b, _ := other.data.([]byte)
		return bytes.Equal(a, b)
	case []bool:
		b, _ := other.data.([]bool)
		return slices.Equal(a, b)
	case []int64:
		b, _ := other.data.([]int64)
		return slices.Equal(a, b)
	case []float64:
		b, _ := other.data.([]float64)
		return slices.EqualFunc(a, b, sameDouble)
	case []string:
		b, _ := other.data.([]string)
		return slices.Equal(a, b)
	}
	return v.data == other.data
}

func sameDouble(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// String writes v as it stands in a parameter file.
func (v Value) String() string {
	switch d := v.data.(type) {
	case nil:
		return "not set"
	case float64:
		return double(d)
	case string:
		return strconv.Quote(d)
	case []float64:
		return list(d, double)
	case []string:
		return list(d, strconv.Quote)
	case []byte:
		return list(d, func(b byte) string { return fmt.Sprintf("0x%02x", b) })
	case []bool:
		return list(d, strconv.FormatBool)
	case []int64:
		return list(d, func(i int64) string { return strconv.FormatInt(i, 10) })
	}
	return fmt.Sprint(v.data)
}

// double writes a number so that a parameter file does not take it for an integer.
func double(d float64) string {
	switch {
	case math.IsNaN(d):
		return ".nan"
	case math.IsInf(d, 1):
		return ".inf"
	case math.IsInf(d, -1):
		return "-.inf"
	}
	text := strconv.FormatFloat(d, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func list[T any](values []T, write func(T) string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = write(value)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// empty is the array type without elements; false when t is no array.
func empty(t Type) (Value, bool) {
	switch t {
	case ByteArray:
		return Of([]byte{}), true
	case BoolArray:
		return Of([]bool{}), true
	case IntegerArray:
		return Of([]int64{}), true
	case DoubleArray:
		return Of([]float64{}), true
	case StringArray:
		return Of([]string{}), true
	}
	return Value{}, false
}
