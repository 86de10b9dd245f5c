package qos

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

func decodeText(text string) ([]Profile, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("parse offered qos profiles: %w", err)
	}
	return Decode(&document)
}

// Decode reads offered_qos_profiles of any metadata version: a list or a single map with words or numbers, or a string
// whose text is one of these. It is lenient: missing keys are zero, unknown words and numbers are "unknown".
func Decode(node *yaml.Node) ([]Profile, error) {
	return decode(node, 0)
}

func decode(node *yaml.Node, depth int) ([]Profile, error) {
	if node == nil || node.Kind == 0 {
		return nil, nil
	}
	if depth > 4 { // a text whose content is a text again, and so on
		return nil, fmt.Errorf("parse offered qos profiles: line %d: nested too deep", node.Line)
	}
	switch node.Kind {
	case yaml.DocumentNode:
		if len(node.Content) == 0 {
			return nil, nil
		}
		return decode(node.Content[0], depth+1)
	case yaml.AliasNode:
		return decode(node.Alias, depth+1)
	case yaml.ScalarNode:
		if node.Tag == "!!null" || strings.TrimSpace(node.Value) == "" {
			return nil, nil
		}
		var inner yaml.Node
		if err := yaml.Unmarshal([]byte(node.Value), &inner); err != nil {
			return nil, fmt.Errorf("parse offered qos profiles: line %d: %w", node.Line, err)
		}
		if len(inner.Content) == 1 && inner.Content[0].Kind == yaml.ScalarNode {
			return nil, fmt.Errorf("parse offered qos profiles: line %d: neither list nor map", node.Line)
		}
		return decode(&inner, depth+1)
	case yaml.MappingNode:
		profile, err := decodeProfile(node)
		if err != nil {
			return nil, err
		}
		return []Profile{profile}, nil
	default:
		profiles := make([]Profile, 0, len(node.Content))
		for _, item := range node.Content {
			profile, err := decodeProfile(item)
			if err != nil {
				return nil, err
			}
			profiles = append(profiles, profile)
		}
		if len(profiles) == 0 {
			return nil, nil
		}
		return profiles, nil
	}
}

// target follows an alias to what it stands for: writers like PyYAML use them for what is the same twice.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias // an anchor is never an alias itself
	}
	return node
}

func decodeProfile(node *yaml.Node) (Profile, error) {
	var p Profile
	node = target(node)
	if node.Kind != yaml.MappingNode {
		return p, fmt.Errorf("parse offered qos profiles: line %d: a profile is a map", node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := target(node.Content[i+1])
		var err error
		switch node.Content[i].Value {
		case "history":
			p.History = History(lenient(historyWords(), value.Value))
		case "depth":
			p.Depth = decodeDepth(value.Value)
		case "reliability":
			p.Reliability = Reliability(lenient(reliabilityWords(), value.Value))
		case "durability":
			p.Durability = Durability(lenient(durabilityWords(), value.Value))
		case "deadline":
			p.Deadline, err = decodeDuration(value)
		case "lifespan":
			p.Lifespan, err = decodeDuration(value)
		case "liveliness":
			p.Liveliness = Liveliness(lenient(livelinessWords(), value.Value))
		case "liveliness_lease_duration":
			p.LivelinessLeaseDuration, err = decodeDuration(value)
		case "avoid_ros_namespace_conventions":
			p.AvoidROSNamespaceConventions = value.Value == "true"
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// decodeDepth takes what is no usable depth (size_t of the middleware may be larger than an int) as unknown.
func decodeDepth(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

func decodeDuration(node *yaml.Node) (time.Duration, error) {
	if node.Kind != yaml.MappingNode {
		return 0, fmt.Errorf("parse offered qos profiles: line %d: a duration is a map of sec and nsec", node.Line)
	}
	var sec, nsec uint64
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := target(node.Content[i+1])
		n, err := strconv.ParseUint(value.Value, 10, 64)
		if errors.Is(err, strconv.ErrRange) || isNegative(value.Value) {
			return Infinite, nil
		}
		if err != nil {
			return 0, fmt.Errorf("parse offered qos profiles: line %d: parse duration %q: %w", value.Line, value.Value, err)
		}
		switch node.Content[i].Value {
		case "sec":
			sec = n
		case "nsec":
			nsec = n
		}
	}
	return duration(sec, nsec), nil
}

// isNegative finds the infinity of who kept it in a signed number.
func isNegative(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && text[0] == '-'
}

// duration joins seconds and nanoseconds. Every middleware has its own infinity: Fast DDS {2147483647, 4294967295},
// Connext {2147483647, 2147483647}, Cyclone DDS and rmw the largest int64 of nanoseconds. A sum that does not fit into
// that is infinite as well. {0, 0} is rmw's "unspecified" and stays 0.
func duration(sec, nsec uint64) time.Duration {
	if sec == math.MaxInt32 && (nsec == math.MaxUint32 || nsec == math.MaxInt32) {
		return Infinite
	}
	const most = uint64(math.MaxInt64)
	if sec > most/uint64(time.Second) || nsec > most-sec*uint64(time.Second) {
		return Infinite
	}
	return time.Duration(sec*uint64(time.Second) + nsec)
}
