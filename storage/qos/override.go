package qos

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Override is what a file says about one topic; nil is "not said".
type Override struct {
	History                      *History
	Depth                        *int
	Reliability                  *Reliability
	Durability                   *Durability
	Deadline                     *time.Duration
	Lifespan                     *time.Duration
	Liveliness                   *Liveliness
	LivelinessLeaseDuration      *time.Duration
	AvoidROSNamespaceConventions *bool
}

// Apply puts what the override says over base.
func (o Override) Apply(base Profile) Profile {
	set(&base.History, o.History)
	set(&base.Depth, o.Depth)
	set(&base.Reliability, o.Reliability)
	set(&base.Durability, o.Durability)
	set(&base.Deadline, o.Deadline)
	set(&base.Lifespan, o.Lifespan)
	set(&base.Liveliness, o.Liveliness)
	set(&base.LivelinessLeaseDuration, o.LivelinessLeaseDuration)
	set(&base.AvoidROSNamespaceConventions, o.AvoidROSNamespaceConventions)
	return base
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// OverrideError says where an override file is wrong. Topic and Key are empty where there is none.
type OverrideError struct {
	Path  string
	Line  int
	Topic string
	Key   string
	Err   error
}

func (e *OverrideError) Error() string {
	var where strings.Builder
	fmt.Fprintf(&where, "%s:%d: ", e.Path, e.Line)
	if e.Topic != "" {
		fmt.Fprintf(&where, "topic %s: ", e.Topic)
	}
	if e.Key != "" {
		fmt.Fprintf(&where, "key %s: ", e.Key)
	}
	return where.String() + e.Err.Error()
}

func (e *OverrideError) Unwrap() error { return e.Err }

// The faults of an override file.
var (
	ErrOverrideKey      = errors.New("unexpected key for qos profile")
	ErrOverrideValue    = errors.New("unexpected value")
	ErrOverrideDuration = errors.New("time overrides must include both seconds (sec) and nanoseconds (nsec)")
	ErrOverrideNegative = errors.New("may not be a negative value")
	ErrOverrideHistory  = errors.New("history or depth must be given, and keep_last needs a depth")
	ErrOverrideTopic    = errors.New("a topic is a name with a leading slash, given once, with a map")
)

// ParseOverrides reads an override file: topic names and for each a map of policies, of which some may be left out.
// It is strict; the first fault is returned as *OverrideError. path is only named in errors.
func ParseOverrides(path string, data []byte) (map[string]Override, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, &OverrideError{Path: path, Line: errorLine(err), Err: fmt.Errorf("parse yaml: %w", err)}
	}
	overrides := map[string]Override{}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return overrides, nil
	}
	root := target(document.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, &OverrideError{Path: path, Line: root.Line, Err: ErrOverrideTopic}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], target(root.Content[i+1])
		_, twice := overrides[name.Value]
		if twice || !strings.HasPrefix(name.Value, "/") || value.Kind != yaml.MappingNode {
			return nil, &OverrideError{Path: path, Line: name.Line, Topic: name.Value, Err: ErrOverrideTopic}
		}
		override, fault := parseOverride(value)
		if fault != nil {
			fault.Path, fault.Topic = path, name.Value
			return nil, fault
		}
		overrides[name.Value] = override
	}
	return overrides, nil
}

func parseOverride(node *yaml.Node) (Override, *OverrideError) {
	var o Override
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], target(node.Content[i+1])
		var err error
		switch key.Value {
		case "history":
			o.History, err = strictWord[History](historyWords(), value)
		case "depth":
			o.Depth, err = strictDepth(value)
		case "reliability":
			o.Reliability, err = strictWord[Reliability](reliabilityWords(), value)
		case "durability":
			o.Durability, err = strictWord[Durability](durabilityWords(), value)
		case "deadline":
			o.Deadline, err = strictDuration(value)
		case "lifespan":
			o.Lifespan, err = strictDuration(value)
		case "liveliness":
			o.Liveliness, err = strictWord[Liveliness](livelinessWords(), value)
		case "liveliness_lease_duration":
			o.LivelinessLeaseDuration, err = strictDuration(value)
		case "avoid_ros_namespace_conventions":
			o.AvoidROSNamespaceConventions, err = strictBool(value)
		default:
			err = ErrOverrideKey
		}
		if err != nil {
			return o, &OverrideError{Line: key.Line, Key: key.Value, Err: err}
		}
	}
	// rclpy's rule for a profile made from such a map.
	missing := o.History == nil && o.Depth == nil
	if missing || (o.History != nil && *o.History == KeepLast && o.Depth == nil) {
		return o, &OverrideError{Line: node.Line, Key: "history", Err: ErrOverrideHistory}
	}
	return o, nil
}

func strictWord[T ~uint8](words []string, node *yaml.Node) (*T, error) {
	value, ok := lookup(words, node.Value)
	if !ok || node.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("%w %q, one of %s", ErrOverrideValue, node.Value, strings.Join(words, ", "))
	}
	result := T(value)
	return &result, nil
}

func strictDepth(node *yaml.Node) (*int, error) {
	n, err := strconv.Atoi(node.Value)
	switch {
	case err != nil || n > math.MaxInt32:
		return nil, fmt.Errorf("%w %q, an integer", ErrOverrideValue, node.Value)
	case n < 0:
		return nil, ErrOverrideNegative
	}
	return &n, nil
}

func strictBool(node *yaml.Node) (*bool, error) {
	var value bool
	if node.Tag != "!!bool" || node.Decode(&value) != nil {
		return nil, fmt.Errorf("%w %q, true or false", ErrOverrideValue, node.Value)
	}
	return &value, nil
}

func strictDuration(node *yaml.Node) (*time.Duration, error) {
	if node.Kind != yaml.MappingNode {
		return nil, ErrOverrideDuration
	}
	parts := map[string]uint64{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, text := node.Content[i].Value, target(node.Content[i+1]).Value
		if key != "sec" && key != "nsec" {
			return nil, fmt.Errorf("%w %q in a duration", ErrOverrideKey, key)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w %q, an integer", ErrOverrideValue, text)
		}
		if n < 0 {
			return nil, ErrOverrideNegative
		}
		parts[key] = uint64(n)
	}
	if len(parts) != 2 {
		return nil, ErrOverrideDuration
	}
	d := duration(parts["sec"], parts["nsec"])
	return &d, nil
}

// errorLine takes the line out of an error of the YAML parser, which keeps it in the text only.
func errorLine(err error) int {
	found := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if found == nil {
		return 1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
