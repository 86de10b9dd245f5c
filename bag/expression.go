package bag

import (
	"fmt"

	"github.com/dlclark/regexp2"
)

// Expression is a regular expression about names. It is what std::regex calls ECMAScript, as in rosbag2, look-ahead
// included. The zero Expression matches nothing.
type Expression struct {
	compiled *regexp2.Regexp
}

// MatchWhole compiles an expression that must match the whole name, as where bags are read. An empty text gives the zero
// Expression. It is tried alone first: wrapped, an unbalanced one could become a sound one.
func MatchWhole(text string) (Expression, error) {
	if _, err := MatchWithin(text); err != nil || text == "" {
		return Expression{}, err
	}
	return MatchWithin("^(?:" + text + ")$")
}

// MatchWithin compiles an expression that may match anywhere in the name, as where bags are recorded.
func MatchWithin(text string) (Expression, error) {
	if text == "" {
		return Expression{}, nil
	}
	compiled, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return Expression{}, err
	}
	return Expression{compiled}, nil
}

// Empty says whether this is the zero Expression.
func (e Expression) Empty() bool { return e.compiled == nil }

// Matches says whether a name is described by the expression.
func (e Expression) Matches(name string) (bool, error) {
	if e.compiled == nil {
		return false, nil
	}
	hit, err := e.compiled.MatchString(name)
	if err != nil {
		return false, fmt.Errorf("match %s: %w", name, err)
	}
	return hit, nil
}
