package qos

import (
	"bytes"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"
)

// Encode builds the value of offered_qos_profiles for a metadata version: a list with words from version 9 on, before
// that a string whose text is a list with numbers.
func Encode(profiles []Profile, version int) *yaml.Node {
	if version >= 9 {
		return list(profiles, true)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: encodeText(profiles, false), Style: yaml.DoubleQuotedStyle}
}

// EncodeText is the text of offered_qos_profiles as channel metadata keeps it: a list in block style, with words from
// version 9 on and numbers before. It is empty when there is no offer.
func EncodeText(profiles []Profile, version int) string {
	return encodeText(profiles, version >= 9)
}

func encodeText(profiles []Profile, words bool) string {
	if len(profiles) == 0 {
		return ""
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	// Encoding plain nodes into memory can not fail.
	_ = encoder.Encode(list(profiles, words))
	_ = encoder.Close()
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

func list(profiles []Profile, words bool) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	if len(profiles) == 0 {
		node.Style = yaml.FlowStyle
	}
	for _, p := range profiles {
		node.Content = append(node.Content, profileNode(p, words))
	}
	return node
}

func profileNode(p Profile, words bool) *yaml.Node {
	policy := func(value uint8, text string) *yaml.Node {
		if words {
			return scalar(text)
		}
		return scalar(strconv.Itoa(int(value)))
	}
	return mapping(
		"history", policy(uint8(p.History), p.History.String()),
		"depth", scalar(strconv.Itoa(p.Depth)),
		"reliability", policy(uint8(p.Reliability), p.Reliability.String()),
		"durability", policy(uint8(p.Durability), p.Durability.String()),
		"deadline", durationNode(p.Deadline),
		"lifespan", durationNode(p.Lifespan),
		"liveliness", policy(uint8(p.Liveliness), p.Liveliness.String()),
		"liveliness_lease_duration", durationNode(p.LivelinessLeaseDuration),
		"avoid_ros_namespace_conventions", scalar(strconv.FormatBool(p.AvoidROSNamespaceConventions)),
	)
}

func durationNode(d time.Duration) *yaml.Node {
	d = max(d, 0)
	return mapping(
		"sec", scalar(strconv.FormatInt(int64(d/time.Second), 10)),
		"nsec", scalar(strconv.FormatInt(int64(d%time.Second), 10)),
	)
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// mapping takes keys (string) and values (*yaml.Node) in turn.
func mapping(pairs ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, item := range pairs {
		switch v := item.(type) {
		case string:
			node.Content = append(node.Content, scalar(v))
		case *yaml.Node:
			node.Content = append(node.Content, v)
		}
	}
	return node
}
