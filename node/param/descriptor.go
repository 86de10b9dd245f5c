package param

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Descriptor says what a parameter is and which values it takes.
type Descriptor struct {
	Description string
	Constraints string // what a range can not say, for people

	// Words are the only strings that are allowed; none is any.
	Words []string

	// ReadOnly is why the parameter can not be changed once it is declared, a whole sentence; empty when it can.
	ReadOnly string
	// DynamicTyping lets the type change with the value.
	DynamicTyping bool

	IntegerRange *IntegerRange
	DoubleRange  *DoubleRange
}

// IntegerRange bounds an integer, both ends included. With a Step above 0 only From, what lies steps away from it, and
// To are allowed.
type IntegerRange struct {
	From, To int64
	Step     uint64
}

// DoubleRange bounds a double, both ends included. With a Step other than 0 only From, what lies steps away from it,
// and To are allowed; about as exactly as doubles are.
type DoubleRange struct{ From, To, Step float64 }

func (r IntegerRange) contains(v int64) bool {
	if v == r.From || v == r.To {
		return true
	}
	if v < r.From || v > r.To {
		return false
	}
	// The difference of two signed numbers always fits into an unsigned one.
	return r.Step == 0 || (uint64(v)-uint64(r.From))%r.Step == 0
}

func (r DoubleRange) contains(v float64) bool {
	if math.IsNaN(v) {
		return false
	}
	if nearly(v, r.From) || nearly(v, r.To) {
		return true
	}
	if v < r.From || v > r.To {
		return false
	}
	step := math.Abs(r.Step)
	return step == 0 || nearly(v, r.From+math.Round((v-r.From)/step)*step)
}

// nearly allows for a hundred units in the last place, as rclcpp does.
func nearly(a, b float64) bool {
	const epsilon = 0x1p-52
	return a == b || math.Abs(a-b) <= 100*epsilon*math.Abs(a+b) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
}

func (r IntegerRange) String() string {
	text := fmt.Sprintf("from %d to %d", r.From, r.To)
	switch {
	case r.To == math.MaxInt64 && r.From != math.MinInt64:
		text = fmt.Sprintf("%d or more", r.From)
	case r.From == math.MinInt64:
		text = fmt.Sprintf("%d or less", r.To)
	}
	if r.Step > 1 {
		text += fmt.Sprintf(" in steps of %d", r.Step)
	}
	return text
}

func (r DoubleRange) String() string {
	text := fmt.Sprintf("from %s to %s", double(r.From), double(r.To))
	switch {
	case r.To == math.MaxFloat64:
		text = fmt.Sprintf("a finite number of %s or more", double(r.From))
	case r.From == -math.MaxFloat64:
		text = fmt.Sprintf("a finite number of %s or less", double(r.To))
	}
	if r.Step != 0 {
		text += " in steps of " + double(math.Abs(r.Step))
	}
	return text
}

// check says why v can not be a value of a parameter that is declared with type typ.
func (d *Descriptor) check(typ Type, v Value) error {
	if v.kind != typ && !d.DynamicTyping {
		return &TypeError{Want: typ, Got: v}
	}
	switch data := v.data.(type) {
	case string:
		if len(d.Words) > 0 && !slices.Contains(d.Words, data) {
			return fmt.Errorf("%w: %q, it must be one of %s", ErrRange, data, strings.Join(d.Words, ", "))
		}
	case int64:
		return d.checkIntegers(data)
	case []int64:
		return d.checkIntegers(data...)
	case float64:
		return d.checkDoubles(data)
	case []float64:
		return d.checkDoubles(data...)
	}
	return nil
}

func (d *Descriptor) checkIntegers(values ...int64) error {
	for _, v := range values {
		if d.IntegerRange != nil && !d.IntegerRange.contains(v) {
			return fmt.Errorf("%w: %d, it must be %v", ErrRange, v, *d.IntegerRange)
		}
	}
	return nil
}

func (d *Descriptor) checkDoubles(values ...float64) error {
	for _, v := range values {
		if d.DoubleRange != nil && !d.DoubleRange.contains(v) {
			return fmt.Errorf("%w: %s, it must be %v", ErrRange, double(v), *d.DoubleRange)
		}
	}
	return nil
}
